// SPDX-License-Identifier: Apache-2.0
// Waiting in short steps, so that an element notices when it is interrupted.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// Calls `wait(deadline)` again and again with near deadlines. @param what  What it waits for, for the message.
/// @errors kCancelled: is_interrupted was set; and the errors of wait(), but kDeadlineExceeded only after `deadline`.
template <typename Wait>
auto in_steps(Deadline deadline, const std::atomic<bool>& is_interrupted, std::string_view what, Wait wait) {
  constexpr auto kStep = std::chrono::milliseconds(50);
  for (;;) {
    if (is_interrupted) throw Error(Code::kCancelled, "interrupted while waiting for " + std::string(what));
    try {
      return wait(std::min<Deadline>(deadline, Clock::now() + kStep));
    } catch (const Error& error) {
      if (error.code() != Code::kDeadlineExceeded || Clock::now() >= deadline) throw;
    }
  }
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
