// SPDX-License-Identifier: Apache-2.0
// The clock with which the tool measures times.
#pragma once

#include <chrono>
#include <ratio>

namespace tenon::tool {

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace tenon::tool
