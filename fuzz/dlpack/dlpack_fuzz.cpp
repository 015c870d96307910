// SPDX-License-Identifier: Apache-2.0
// Any DLPack tensor, versioned or legacy: it is imported, and exported again, or refused with an Error. The producer's deleter is called once
// whatever becomes of it. No element is touched, since a struct may claim more memory than there is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/dlpack/dlpack.hpp>
#include <tenon/fuzz/bytes.hpp>

namespace {

using namespace tenon;
namespace abi = tenon::dlpack::abi;

constexpr std::int32_t kMaxRank = 8;  // A struct says how many extents its arrays have: that is the producer's to keep.

/// Extents of tensors.
class Bytes : public fuzz::Bytes {
 public:
  using fuzz::Bytes::Bytes;
  /// Often small, since few tensors with extents of any size are valid.
  std::int64_t extent() {
    const auto kind = next<std::uint8_t>();
    if (kind >= 200) return next<std::int64_t>();
    return static_cast<std::int64_t>(next<std::int8_t>()) % 9;
  }
};

struct Produced {
  std::array<std::int64_t, kMaxRank> shape{}, strides{};
  alignas(64) std::array<std::uint8_t, 256> memory{};
  int deleted = 0;
};

void fill(abi::DLTensor& tensor, Produced& made, Bytes& bytes) {
  const auto flags = bytes.next<std::uint8_t>();
  tensor.data = flags & 1 ? nullptr : made.memory.data();
  tensor.device = {flags & 2 ? bytes.next<std::int32_t>() : 1, flags & 2 ? bytes.next<std::int32_t>() : 0};
  tensor.ndim = bytes.next<std::int8_t>() % (kMaxRank + 1);
  tensor.dtype = {bytes.next<std::uint8_t>(), bytes.next<std::uint8_t>(), bytes.next<std::uint16_t>()};
  if (flags & 4) tensor.dtype = {static_cast<std::uint8_t>(tensor.dtype.code % 3), 32, 1};
  for (std::int64_t& extent : made.shape) extent = bytes.extent();
  for (std::int64_t& stride : made.strides) stride = bytes.extent();
  tensor.shape = flags & 8 ? nullptr : made.shape.data();
  tensor.strides = flags & 16 ? nullptr : made.strides.data();
  tensor.byte_offset = flags & 32 ? bytes.next<std::uint64_t>() : 0;
}

template <typename Managed>
void count(Managed* self) {
  ++static_cast<Produced*>(self->manager_ctx)->deleted;
}

template <typename Managed>
void try_one(Managed& managed, Produced& made, Bytes& bytes) {
  const bool has_deleter = bytes.next<std::uint8_t>() % 8 != 0;
  managed.manager_ctx = &made;
  managed.deleter = has_deleter ? &count<Managed> : nullptr;
  try {
    const Tensor tensor = dlpack::import_tensor(&managed);
    if (made.deleted != 0) std::abort();  // The tensor's memory is gone.
    try {
      abi::DLManagedTensorVersioned* const again = dlpack::export_tensor(tensor);
      again->deleter(again);
    } catch (const Error&) {
    }
  } catch (const Error&) {
  }
  if (made.deleted != (has_deleter ? 1 : 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Produced made;
  if (bytes.next<std::uint8_t>() % 2 == 0) {
    abi::DLManagedTensor managed{};
    fill(managed.dl_tensor, made, bytes);
    try_one(managed, made, bytes);
  } else {
    abi::DLManagedTensorVersioned managed{};
    managed.version = {bytes.next<std::uint8_t>() % 4u, bytes.next<std::uint8_t>()};
    managed.flags = bytes.next<std::uint8_t>();
    fill(managed.dl_tensor, made, bytes);
    try_one(managed, made, bytes);
  }
  return 0;
}
