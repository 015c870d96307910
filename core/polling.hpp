// SPDX-License-Identifier: Apache-2.0
// Waiting for what can only be asked: APIs whose own waits have no deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {

/// Asks until the answer is true. Short waits spin; longer ones overshoot by at most an eighth, and by at most a quarter
/// of a millisecond. @return false at the deadline. @errors those of `is_done`.
template <typename IsDone>
bool poll_until(Deadline deadline, IsDone is_done) {
  using std::chrono::microseconds;
  const auto begin = Clock::now();
  while (!is_done()) {
    const auto now = Clock::now();
    if (now >= deadline) return false;
    const Clock::duration waited = now - begin;
    if (waited < microseconds(30)) {
      std::this_thread::yield();
      continue;
    }
    const auto nap = std::min<Clock::duration>(waited / 8, microseconds(250));
    std::this_thread::sleep_for(std::min<Clock::duration>(nap, deadline - now));
  }
  return true;
}

}  // namespace v1
}  // namespace tenon
