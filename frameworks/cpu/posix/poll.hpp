// SPDX-License-Identifier: Apache-2.0
// Waits for descriptors.
#pragma once

#include <poll.h>
#include <cerrno>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

namespace detail {

/// The time until `deadline`, as poll(2) takes it; 0 only when the deadline has come.
int poll_timeout_ms(Deadline deadline);
[[noreturn]] void poll_failed(int fd, int error);

}  // namespace detail

/// Waits until `fd` has one of `events` (POLLIN, POLLOUT). @return false when `deadline` came first.
/// @param poll  (struct pollfd*, nfds_t, int) -> int: poll(2), or what a test puts before it.
/// @errors kInternal with the call
template <typename Poll>
bool poll_until(Deadline deadline, int fd, short events, Poll poll) {
  for (;;) {
    const int timeout_ms = detail::poll_timeout_ms(deadline);
    struct pollfd entry = {fd, events, 0};
    const int ready = poll(&entry, nfds_t{1}, timeout_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR && errno != EAGAIN) detail::poll_failed(fd, errno);
    if (timeout_ms == 0) return false;
  }
}
bool poll_until(Deadline deadline, int fd, short events);

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
