// SPDX-License-Identifier: Apache-2.0
// Shared by frameworks over vendors' libraries: the probe that native calls pass through, and device names.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Lets conformance and tests steer one framework: every native call asks injected() first, and every handle is
/// counted. `Tag` gives each framework its own instance; it is declared with TENON_API, so that a framework's library and binaries with
/// hidden visibility share that instance.
template <typename Tag>
struct TENON_API CallProbe {
  static inline std::atomic<long> countdown{0};  ///< The n-th call from now on fails; 0: none.
  static inline std::atomic<bool> failed{false};
  static inline std::atomic<std::size_t> handles{0};

  /// True when this call was chosen to fail. @cost one relaxed load. @thread any.
  static bool injected() {
    long left = countdown.load(std::memory_order_relaxed);
    while (left > 0) {
      if (!countdown.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) continue;
      if (left == 1) failed.store(true);
      return left == 1;
    }
    return false;
  }
};

/// `name`, followed by "#2", "#3" when `taken` contains it already: devices of one model share a name.
/// @param taken  the undecorated names given so far; this one is added.
inline std::string distinct_name(std::vector<std::string>& taken, const std::string& name) {
  const auto same = std::count(taken.begin(), taken.end(), name);
  taken.push_back(name);
  return same ? name + "#" + std::to_string(same + 1) : name;
}

}  // namespace v1
}  // namespace tenon
