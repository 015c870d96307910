// SPDX-License-Identifier: Apache-2.0
// Extents of a tensor.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "openvino/core/axis_set.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/strides.hpp"

namespace ov {

/// Extents, outermost first. A scalar has none. A negative index counts from the end.
class Shape : public std::vector<std::size_t> {
 public:
  using vector::vector;
  Shape() = default;
  Shape(const std::vector<std::size_t>& extents) : vector(extents) {}
  /// "[1,3,224,224]". @errors AssertFailure
  OPENVINO_API Shape(const std::string& text);
  OPENVINO_API std::string to_string() const;
  reference operator[](std::ptrdiff_t axis) { return vector::operator[](from_front(axis)); }
  const_reference operator[](std::ptrdiff_t axis) const { return vector::operator[](from_front(axis)); }
  reference at(std::ptrdiff_t axis) { return vector::at(from_front(axis)); }
  const_reference at(std::ptrdiff_t axis) const { return vector::at(from_front(axis)); }

 private:
  std::size_t from_front(std::ptrdiff_t axis) const { return static_cast<std::size_t>(axis) + (axis < 0 ? size() : 0); }
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The number of elements: 1 for a scalar.
template <typename Iterator>
auto shape_size(Iterator first, const Iterator last) -> std::size_t {
  std::size_t count = 1;
  for (; first != last; ++first) count *= static_cast<std::size_t>(*first);
  return count;
}
template <typename Extents>
std::size_t shape_size(const Extents& shape) {
  return shape_size(shape.begin(), shape.end());
}
/// Distances in elements of a packed tensor.
template <typename Extents>
std::vector<std::size_t> row_major_strides(const Extents& shape) {
  std::vector<std::size_t> strides(shape.size());
  std::size_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; step *= *(shape.begin() + axis)) strides[axis] = step;
  return strides;
}
/// One of these distances.
template <typename Extents>
std::size_t row_major_stride(const Extents& shape, std::size_t axis) {
  return axis < shape.size() ? row_major_strides(shape)[axis] : 1;
}
template <typename Extents>
bool is_scalar(const Extents& shape) {
  return shape.size() == 0;
}
template <typename Extents>
bool is_vector(const Extents& shape) {
  return shape.size() == 1;
}

}  // namespace ov
