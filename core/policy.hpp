// SPDX-License-Identifier: Apache-2.0
// Policies of a caller: access and copies.
#pragma once

#include <chrono>
#include <cstdint>

namespace tenon {
inline namespace v1 {

enum class Access : std::uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };
constexpr bool writes(Access access) { return (static_cast<int>(access) & 2) != 0; }
constexpr bool covers(Access held, Access wanted) {
  return (static_cast<int>(held) & static_cast<int>(wanted)) == static_cast<int>(wanted);
}

/// kRequire: a copy is an error that explains itself. kPrefer: share where possible, else copy and book it.
/// kAllow: the cheapest way, sharing or copying.
enum class ZeroCopy : std::uint8_t { kRequire, kPrefer, kAllow };

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
/// Deadline of waits when the caller gives none: long for a device, short for a user.
inline Deadline default_deadline() { return Clock::now() + std::chrono::seconds(10); }

}  // namespace v1
}  // namespace tenon
