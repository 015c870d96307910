// SPDX-License-Identifier: Apache-2.0
// The period of the system's timer.
#include <tenon/core/platform/timer_slack.hpp>

#include <tenon/core/platform/windows/api.hpp>
// After windows.h, whose types it uses.
#include <timeapi.h>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE int shorten_timer_slack() { return ::timeBeginPeriod(1) == 0 ? 1 : 0; }
TENON_INLINE void restore_timer_slack(int before) {
  if (before > 0) ::timeEndPeriod(1);
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
