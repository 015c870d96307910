// SPDX-License-Identifier: Apache-2.0
// For tests: counts the frames that are alive.
#pragma once

#include <atomic>
#include <memory>

#include <tenon/core/metadata.hpp>

namespace tenon_test {

/// Metadata that lives as long as its frame.
struct Alive {
  static constexpr tenon::metadata::Kind kKind{"alive"};
  struct Count {
    Count() {
      const int now = ++count;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
    }
    ~Count() { --count; }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
  };
  std::shared_ptr<Count> one = std::make_shared<Count>();
  static inline std::atomic<int> count{0}, most{0};
};

}  // namespace tenon_test
