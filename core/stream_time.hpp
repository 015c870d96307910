// SPDX-License-Identifier: Apache-2.0
// One line of time for a stream whose clock jumps, or that goes on by another clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <tenon/core/frame.hpp>

namespace tenon {
inline namespace v1 {

/// The sum, or the nearest number to it: containers may state any time.
inline std::int64_t later(std::int64_t time_ns, std::int64_t by_ns) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(time_ns, by_ns, &sum)) return sum;
  return by_ns > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

/// The usual time between two frames. A stream whose rate is unknown is taken to have 25 per second, so that its time passes.
inline std::int64_t usual_step_ns(double frames_per_second) {
  return static_cast<std::int64_t>(std::clamp(1e9 / (frames_per_second > 0 ? frames_per_second : 25.0), 0.0, 1e18));
}

/// Joins the times of a stream to one line that moves on. A time that jumps back by more than 0.1 s, or too far ahead, is one
/// of another clock: it follows the last one by a step, and later ones are moved with it. After a single stray time the line
/// goes on as before it. FFmpeg's tools join timestamps by the same limit.
/// @thread one at a time
class StreamTime {
 public:
  static constexpr std::int64_t kMostBackNs = 100'000'000;

  /// @param own_ns  The time by the stream's own clock; kNoTimestamp: a step after the last one.
  /// @param step_ns  The usual time between two frames; 0: the time between the last two.
  /// @param most_ahead_ns  A time that is further ahead of the last one is one of another clock.
  /// @return The time on the line. The first is the stream's own, or 0.
  std::int64_t next(std::int64_t own_ns, std::int64_t step_ns,
                    std::int64_t most_ahead_ns = std::numeric_limits<std::int64_t>::max()) {
    if (!last_ns_) {
      begins_ = false;
      return *(last_ns_ = own_ns == kNoTimestamp ? 0 : own_ns);
    }
    const std::int64_t expected = sum(*last_ns_, step_ns > 0 ? step_ns : interval_ns_);
    const std::int64_t time =
        own_ns == kNoTimestamp ? expected : sum(own_ns, shift_for(own_ns, expected, most_ahead_ns));
    if (time > *last_ns_) interval_ns_ = difference(time, *last_ns_);
    return *(last_ns_ = time);
  }

  /// The next time is one of another clock: that of the next file, or of a source that was opened again.
  void begin_again() { begins_ = true; }

 private:
  static constexpr int kSteady = 8;  ///< After so many times by the new clock, the one before it is forgotten.

  /// Signed arithmetic that wraps: containers may state any time.
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
  static std::uint64_t magnitude(std::int64_t a) {
    return a < 0 ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
  }

  std::int64_t shift_for(std::int64_t own_ns, std::int64_t expected, std::int64_t most_ahead_ns) {
    const auto off = [&](std::int64_t shift) { return difference(sum(own_ns, shift), expected); };
    const auto is_jump = [&](std::int64_t shift) {
      return difference(sum(own_ns, shift), *last_ns_) < -kMostBackNs || off(shift) > most_ahead_ns;
    };
    if (std::exchange(begins_, false)) {
      knows_before_ = false;
      return shift_ns_ = difference(expected, own_ns);
    }
    if (knows_before_ && !is_jump(before_ns_) && magnitude(off(before_ns_)) < magnitude(off(shift_ns_))) {
      std::swap(shift_ns_, before_ns_);
      steady_ = 0;
    } else if (is_jump(shift_ns_)) {
      before_ns_ = std::exchange(shift_ns_, difference(expected, own_ns));
      knows_before_ = true;
      steady_ = 0;
    } else if (knows_before_ && ++steady_ == kSteady) {
      knows_before_ = false;
    }
    return shift_ns_;
  }

  std::optional<std::int64_t> last_ns_;
  std::int64_t interval_ns_ = 0, shift_ns_ = 0;
  std::int64_t before_ns_ = 0;  ///< The shift of the clock before the last jump.
  bool knows_before_ = false;
  int steady_ = 0;
  bool begins_ = false;
};

}  // namespace v1
}  // namespace tenon
