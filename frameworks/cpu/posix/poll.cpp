// SPDX-License-Identifier: Apache-2.0
// poll(2) with deadlines.
#include <tenon/frameworks/cpu/posix/poll.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

namespace detail {

TENON_INLINE int poll_timeout_ms(Deadline deadline) {
  const Deadline now = Clock::now();  // A deadline long past must not overflow the difference.
  const auto left = deadline <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

TENON_INLINE void poll_failed(int fd, int error) {
  throw Error(Code::kInternal,
              "waiting for descriptor " + std::to_string(fd) + ": " + std::generic_category().message(error), "poll",
              error);
}

}  // namespace detail

TENON_INLINE bool poll_until(Deadline deadline, int fd, short events) {
  return poll_until(deadline, fd, events, ::poll);
}

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
