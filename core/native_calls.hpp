// SPDX-License-Identifier: Apache-2.0
// What frameworks over a library of the vendor's share: the probe that their calls pass through, and names of devices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace tenon {
inline namespace v1 {

/// What conformance and tests steer in one framework: every native call asks injected() first, and every handle is
/// counted. Each framework names an instance of its own by `Tag`.
template <typename Tag>
struct CallProbe {
  static inline std::atomic<long> countdown{0};  ///< The n-th call from now on fails; 0: none.
  static inline std::atomic<bool> failed{false};
  static inline std::atomic<std::size_t> handles{0};

  /// True when this call is the one that was told to fail. @cost one relaxed load. @thread any.
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

/// `name`, with "#2", "#3" when `taken` holds it already: devices of one model are called alike.
/// @param taken  the names given so far, as they were asked for; this one is added.
inline std::string distinct_name(std::vector<std::string>& taken, std::string name) {
  const auto same = std::count(taken.begin(), taken.end(), name);
  taken.push_back(name);
  return same ? name + "#" + std::to_string(same + 1) : name;
}

}  // namespace v1
}  // namespace tenon
