// SPDX-License-Identifier: Apache-2.0
// A CUcontext as a Tenon context: its memory, and copies by its device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cuda/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

/// One side of a copy: an address that CUDA knows, or plain host memory.
struct Side {
  abi::DevicePointer data = 0;
  bool is_host = false;
  static Side host(void* data) { return {reinterpret_cast<std::uintptr_t>(data), true}; }
};

enum class Direction : std::uint8_t { kOut, kIn };

/// Copies a tensor's elements out to packed memory, or in from it, and waits. When the wait times out, both sides are
/// kept until the device is done. The caller has waited for work in flight.
/// @errors kDeadlineExceeded; those of native calls.
void copy_elements(const Ref<Native>& native, const Tensor& tensor, const Ref<Memory>& packed, const Side& side,
                   Direction direction, Deadline deadline);

}  // namespace detail

/// A CUcontext on one device; allocates, wraps and pins memory.
class CudaContext final : public ContextImpl {
 public:
  CudaContext(Ref<detail::Native> native, const std::string& device_name)
      : native_(std::move(native)), name_("cuda:" + device_name) {}

  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kCudaMemory; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override { return native_->device.identity; }
  /// Streams wait for any point: order() and stream() see to it.
  bool can_wait_for(const Timeline&) const override { return true; }
  std::string_view remedy() const override;
  const detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

  /// Device memory is aligned to 256 bytes, pinned and exportable memory to pages.
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Device memory; pinned host memory if `wanted.host_access`; memory with a descriptor if `wanted.fd` asks for one.
  /// @errors kUnimplemented where offer() refuses; kResourceExhausted and other errors of native calls.
  Ref<Memory> allocate(const Requirements& wanted) override;
  /// @errors kUnimplemented: managed memory that the host may not access while the device works; as above.
  Ref<Memory> allocate(const Requirements& wanted, MemoryType type);
  Ref<Memory> allocate_exported(const Requirements& wanted);
  /// Memory over a whole allocation. `owned` may be empty: others then keep it, and `release` is called at the end.
  Ref<Memory> over(const detail::PointerFacts& facts, detail::Block owned, UniqueFd fd,
                   std::function<void()> release = {}, bool read_only = false);

  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

 private:
  static std::size_t size_of(const Requirements& wanted);

  Ref<detail::Native> native_;
  std::string name_;
};

namespace detail {

CudaContext& cuda_context(const Context& context, const char* function);

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
