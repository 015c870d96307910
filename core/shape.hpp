// SPDX-License-Identifier: Apache-2.0
// Shapes and byte strides.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/small_vector.hpp>

namespace tenon {
inline namespace v1 {

/// Extents, outermost first. A scalar has rank 0. Any extent may be 0.
class Shape : public SmallVector<std::size_t, 6> {
 public:
  using SmallVector::SmallVector;
};

/// Distance in bytes between neighbours along each axis, outermost first; the name says bytes because other libraries
/// count elements. Signed: negative strides can be represented, though no framework here makes any.
class ByteStrides : public SmallVector<std::ptrdiff_t, 6> {
 public:
  using SmallVector::SmallVector;
};

/// Number of elements, or nothing when the product does not fit 63 bits. Use it for every shape from outside.
inline std::optional<std::size_t> checked_element_count(const Shape& shape) {
  std::size_t count = 1;
  bool overflow = false;
  for (std::size_t extent : shape) {
    if (extent == 0) return 0;
    std::size_t next = 0;
    overflow |= __builtin_mul_overflow(count, extent, &next) || next > (std::size_t{1} << 62);
    count = next;
  }
  if (overflow) return std::nullopt;
  return count;
}

/// Number of elements. Precondition: it fits (see checked_element_count).
inline std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (std::size_t extent : shape) count *= extent;
  return count;
}

/// Bytes of a packed tensor; sub-byte types are rounded up to whole bytes. Nothing on overflow.
inline std::optional<std::size_t> checked_size_bytes(ElementType type, const Shape& shape) {
  const auto count = checked_element_count(shape);
  std::size_t bits = 0;
  if (!count || __builtin_mul_overflow(*count, bit_width(type), &bits)) return std::nullopt;
  return bits / 8 + (bits % 8 != 0);
}

/// Strides of a packed row-major tensor. Empty for sub-byte types.
inline ByteStrides packed_strides(ElementType type, const Shape& shape) {
  ByteStrides strides;
  if (size_bytes(type) == 0) return strides;
  strides.resize(shape.size());
  std::size_t step = size_bytes(type);  // Unsigned: may wrap, where an extent of 0 lets the others be of any size.
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = static_cast<std::ptrdiff_t>(step);
    step *= shape[axis];
  }
  return strides;
}

/// "[1,3,224,224]", the form used in all messages.
inline std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

inline std::string to_string(const ByteStrides& strides) {
  std::string text = "[";
  for (std::size_t i = 0; i < strides.size(); ++i) text += (i ? "," : "") + std::to_string(strides[i]);
  return text + "]";
}

}  // namespace v1
}  // namespace tenon
