// SPDX-License-Identifier: Apache-2.0
// A set of axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <set>
#include <vector>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// A set of axes.
class AxisSet : public std::set<std::size_t> {
 public:
  using set::set;
  AxisSet() = default;
  AxisSet(const std::set<std::size_t>& values) : set(values) {}
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const AxisSet& values);

}  // namespace ov
