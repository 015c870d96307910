// SPDX-License-Identifier: Apache-2.0
// Waiting by polling, for APIs whose own waits have no deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <tenon/core/platform/timer_slack.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {

/// Sets the thread's timer slack to the minimum for its lifetime, so that short sleeps end on time. By default Linux
/// ends each up to 50 us late.
/// @thread made and destroyed by one thread. @cost two system calls.
class TimerSlackGuard {
 public:
  TimerSlackGuard() : before_(platform::shorten_timer_slack()) {}
  ~TimerSlackGuard() { platform::restore_timer_slack(before_); }
  TimerSlackGuard(const TimerSlackGuard&) = delete;
  TimerSlackGuard& operator=(const TimerSlackGuard&) = delete;

 private:
  const int before_;  ///< Linux: nanoseconds.
};
/// The earlier name of TimerSlackGuard.
using PromptNaps = TimerSlackGuard;

/// Calls is_done() until it returns true. Short waits spin; longer ones overshoot by at most 6 %, and by at most a
/// quarter of a millisecond. @return false at the deadline. @errors those of `is_done`.
template <typename IsDone>
bool poll_until(Deadline deadline, IsDone is_done) {
  using std::chrono::microseconds;
  const auto begin = Clock::now();
  std::optional<TimerSlackGuard> prompt;
  while (!is_done()) {
    const auto now = Clock::now();
    if (now >= deadline) return false;
    const Clock::duration waited = now - begin;
    if (waited < microseconds(30)) {
      std::this_thread::yield();
      continue;
    }
    if (!prompt) prompt.emplace();
    const auto nap = std::min<Clock::duration>(waited / 16, microseconds(250));
    std::this_thread::sleep_for(std::min<Clock::duration>(nap, deadline - now));
  }
  return true;
}

}  // namespace v1
}  // namespace tenon
