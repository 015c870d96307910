// SPDX-License-Identifier: Apache-2.0
// The element "throttle": lets no more than so many frames per second pass.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/internal/basic.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

/// The points in time at which frames are due, one period apart on average.
class Pace {
 public:
  explicit Pace(double per_second) : period_ns_(static_cast<std::int64_t>(std::llround(1e9 / per_second))) {}
  /// Whether a frame of this time is due. Times may be early by a tenth of the period: frames of cameras are not quite regular.
  bool is_due(std::int64_t time_ns) {
    if (due_ns_ && time_ns < later(*due_ns_, -period_ns_ / 10)) return false;
    // After a gap the pace begins anew, instead of catching up.
    const bool is_late = !due_ns_ || time_ns > later(*due_ns_, period_ns_);
    due_ns_ = later(is_late ? time_ns : *due_ns_, period_ns_);
    return true;
  }
  std::int64_t due_ns() const { return due_ns_.value_or(0); }

 private:
  const std::int64_t period_ns_;
  std::optional<std::int64_t> due_ns_;
};

class Throttle final : public Transform {
 public:
  explicit Throttle(const Parameters& given) : per_second_(given.number("fps")), waits_(given.text("how") == "wait") {}

  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    pace_.emplace(per_second_);
    time_ = {};
    step_ns_ = usual_step_ns(in.frames_per_second);
    StreamInfo out = in;
    // Frames that are delayed keep their times.
    if (!waits_) out.frames_per_second = in.frames_per_second > 0 ? std::min(in.frames_per_second, per_second_) : 0;
    return out;
  }

  void process(Item item, Output& output) override {
    if (waits_) {
      wait();
    } else if (!pace_->is_due(time_.next(item.frame.timestamp_ns(), step_ns_))) {
      return;
    }
    output.emit(std::move(item));
  }
  void interrupt() noexcept override { is_interrupted_ = true; }

 private:
  static std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  }
  /// Waits until the next frame is due by the clock of the machine.
  void wait() {
    constexpr std::chrono::nanoseconds kStep = std::chrono::milliseconds(20);
    while (!pace_->is_due(now_ns())) {
      if (is_interrupted_) throw Error(Code::kCancelled, "throttle: interrupted");
      const std::chrono::nanoseconds left(pace_->due_ns() - now_ns());
      std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), kStep));
    }
  }

  const double per_second_;
  const bool waits_;
  std::optional<Pace> pace_;
  StreamTime time_;
  std::int64_t step_ns_ = 0;
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace

KnownElement throttle_element() {
  Description made;
  made.name = "throttle";
  made.about = "Lets no more than so many frames per second pass";
  made.role = Role::kTransform;
  made.parameters = {
      {"fps", "Frames per second that pass", 10.0, false, 0.001, 1e6},
      choice("how",
             "drop: frames between those are dropped, by the times of the stream; wait: each frame waits "
             "for its turn, by the clock of the machine",
             "drop", {"drop", "wait"})};
  made.has_thread = true;
  return {made,
          [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<Throttle>(given); }};
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
