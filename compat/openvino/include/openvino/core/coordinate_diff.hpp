// SPDX-License-Identifier: Apache-2.0
// Signed distances along axes, such as paddings.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// Signed distances along axes, such as paddings.
class CoordinateDiff : public std::vector<std::ptrdiff_t> {
 public:
  using vector::vector;
  CoordinateDiff() = default;
  CoordinateDiff(const std::vector<std::ptrdiff_t>& values) : vector(values) {}
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const CoordinateDiff& values);

}  // namespace ov
