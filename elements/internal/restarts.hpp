// SPDX-License-Identifier: Apache-2.0
// How often a failed stream is restarted, and after which pause.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <tenon/core/policy.hpp>
#include <tenon/elements/pipeline_spec.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

/// The restarts of one stream. @thread one at a time
class Restarts {
 public:
  /// @param spec  Must outlive this.
  explicit Restarts(const PipelineSpec& spec) : spec_(spec), pause_(spec.restart_delay) {}

  void had_frame(Clock::time_point now) {
    if (first_ == Clock::time_point{}) first_ = now;
    last_ = now;
  }

  /// The stream has failed. @return How long to wait before the restart; nothing: no restart.
  std::optional<std::chrono::milliseconds> next() {
    if (last_ - first_ >= spec_.restart_reset) {
      count_ = 0;
      pause_ = spec_.restart_delay;
    }
    first_ = last_ = {};
    if (spec_.on_error != OnError::kRestart || count_ == spec_.restarts) return std::nullopt;
    ++count_;
    const auto pause = pause_;
    if (pause_ < kLongest) pause_ = std::min(pause_ * 2, kLongest);
    return pause;
  }

 private:
  static constexpr std::chrono::milliseconds kLongest =
      std::chrono::minutes(1);  ///< The upper limit of the growing pause.

  const PipelineSpec& spec_;
  std::uint32_t count_ = 0;
  std::chrono::milliseconds pause_;
  Clock::time_point first_{}, last_{};  ///< Times of the first and the last frame since it began.
};

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
