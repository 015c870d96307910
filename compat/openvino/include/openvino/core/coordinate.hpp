// SPDX-License-Identifier: Apache-2.0
// A position in a tensor.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/shape.hpp"

namespace ov {

/// A position in a tensor.
class Coordinate : public std::vector<std::size_t> {
 public:
  using vector::vector;
  Coordinate() = default;
  Coordinate(const std::vector<std::size_t>& values) : vector(values) {}
  Coordinate(const Shape& shape) : vector(shape) {}
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Coordinate& values);

}  // namespace ov
