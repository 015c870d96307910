// SPDX-License-Identifier: Apache-2.0
// File descriptors with owners, under the names of this framework, and waits for them.
#pragma once

#include <poll.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

using tenon::SharedFd;
using tenon::UniqueFd;

/// Waits until `fd` has one of `events` (POLLIN, POLLOUT). @return false when `deadline` came first.
/// @param poll  (struct pollfd*, nfds_t, int) -> int: poll(2), or what a test puts before it.
/// @errors kInternal with the call
template <typename Poll>
bool poll_until(Deadline deadline, int fd, short events, Poll poll) {
  for (;;) {
    const Deadline now = Clock::now();  // A deadline long past must not overflow the difference.
    const auto left = deadline <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    struct pollfd entry = {fd, events, 0};
    const int ready = poll(&entry, nfds_t{1}, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR && errno != EAGAIN) {
      const int error = errno;
      throw Error(Code::kInternal,
                  "waiting for descriptor " + std::to_string(fd) + ": " + std::generic_category().message(error),
                  "poll", error);
    }
    if (left == 0) return false;
  }
}
inline bool poll_until(Deadline deadline, int fd, short events) { return poll_until(deadline, fd, events, ::poll); }

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
