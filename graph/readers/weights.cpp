// SPDX-License-Identifier: Apache-2.0
// Parts of mapped weights: checked, and used in place if aligned.
#include <algorithm>
#include <cstring>

#include <tenon/core/host.hpp>
#include <tenon/graph/readers/internal/weights.hpp>

namespace tenon {
inline namespace v1 {
namespace readers {

Tensor tensor_at(const Tensor& bytes, std::uint64_t offset, std::uint64_t size, ElementType type, const Shape& shape,
                 const std::string& what) {
  const std::uint64_t available = bytes ? bytes.size_bytes() : 0;
  if (offset > available || size > available - offset) {
    throw Error(Code::kDataLoss, what + " lies at bytes " + std::to_string(offset) + " to " + std::to_string(offset) +
                                     "+" + std::to_string(size) + " of the weights, which have only " +
                                     std::to_string(available) +
                                     " bytes: the weights file is truncated or belongs to another model");
  }
  if (type == ElementType::kString)
    throw Error(Code::kUnimplemented, what + " holds strings, which are not read from bytes of weights");
  const auto needed = checked_size_bytes(type, shape);
  if (!needed || *needed != size) {
    throw Error(Code::kInvalidArgument, what + " is " + std::string(name(type)) + " " + to_string(shape) +
                                            ", which needs " +
                                            (needed ? std::to_string(*needed) : std::string("more than 2^63")) +
                                            " bytes, but its size says " + std::to_string(size));
  }
  if (size == 0) return Tensor(type, shape);
  auto* start = static_cast<std::uint8_t*>(bytes.data()) + offset;
  const std::size_t alignment = std::max<std::size_t>(1, tenon::v1::size_bytes(type));
  if (reinterpret_cast<std::uintptr_t>(start) % alignment == 0) {
    return Tensor(TensorInfo{type, shape, {}}, bytes.memory(), bytes.offset() + offset, bytes.lease());
  }
  Tensor copy(type, shape);
  std::memcpy(copy.data(), start, size);
  return copy;
}

}  // namespace readers
}  // namespace v1
}  // namespace tenon
