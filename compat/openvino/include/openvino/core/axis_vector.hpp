// SPDX-License-Identifier: Apache-2.0
// Numbers of axes, in order.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// Numbers of axes, in order.
class AxisVector : public std::vector<std::size_t> {
 public:
  using vector::vector;
  AxisVector() = default;
  AxisVector(const std::vector<std::size_t>& values) : vector(values) {}
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const AxisVector& values);

}  // namespace ov
