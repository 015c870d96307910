// SPDX-License-Identifier: Apache-2.0
// Distances between neighbours along each axis: bytes in tensors, elements in convolutions.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// Distances between neighbours along each axis: bytes in tensors, elements in convolutions.
class Strides : public std::vector<std::size_t> {
 public:
  using vector::vector;
  Strides() = default;
  Strides(const std::vector<std::size_t>& values) : vector(values) {}
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Strides& values);

}  // namespace ov
