// SPDX-License-Identifier: Apache-2.0
// How late the system may end a short sleep.
#pragma once

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// Makes the sleeps of this thread end as early as the system can. @return what restore_timer_slack() takes.
/// @cost one or two system calls.
#if defined(__linux__)
inline int shorten_timer_slack() {
  const int before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  return before;
}
inline void restore_timer_slack(int before) {
  if (before > 0) prctl(PR_SET_TIMERSLACK, before, 0, 0, 0);
}
#elif defined(_WIN32)
/// For all threads of the process: Windows has one timer for them.
TENON_API int shorten_timer_slack();
TENON_API void restore_timer_slack(int before);
#else
inline int shorten_timer_slack() { return 0; }
inline void restore_timer_slack(int /*before*/) {}
#endif

}  // namespace platform
}  // namespace v1
}  // namespace tenon
