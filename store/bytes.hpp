// SPDX-License-Identifier: Apache-2.0
// Bytes of host tensors, and parts of them, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::store {

/// The bytes of a tensor; none for an empty handle.
inline std::string_view bytes_of(const Tensor& tensor) {
  if (!tensor || tensor.size_bytes() == 0) return {};
  return {static_cast<const char*>(tensor.data()), tensor.size_bytes()};
}

/// A part as u8 [size], which keeps the whole tensor alive. @param offset, size  within it.
inline Tensor part_of(const Tensor& bytes, std::uint64_t offset, std::uint64_t size) {
  return Tensor(TensorInfo{ElementType::kU8, Shape{static_cast<std::size_t>(size)}, {}}, bytes.memory(),
                bytes.offset() + static_cast<std::size_t>(offset), bytes.lease());
}

/// The hash of a tensor's bytes. @cost one read of them.
inline ContentHash content_hash(const Tensor& tensor) { return content_hash(tensor.data(), tensor.size_bytes()); }

}  // namespace tenon::inline v1::store
