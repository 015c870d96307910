// SPDX-License-Identifier: Apache-2.0
// gvafpscounter: counts the frames of all elements of this kind in the process, and writes the rates to standard output.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/bindings/gstreamer/gva/in_place.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastSeconds = 0.1;  ///< A shorter time says nothing.

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Mean and spread of numbers that come one by one.
struct Spread {
  std::uint64_t count = 0;
  double sum = 0, squares = 0;
  void add(double value) { ++count, sum += value, squares += value * value; }
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  double deviation() const {
    if (count < 2) return 0;
    const auto n = static_cast<double>(count);
    return std::sqrt(std::max(squares - sum * sum / n, 0.0) / (n - 1));
  }
};

/// What is written beside the rates.
struct Extras {
  bool deviation = false, latency = false;
};

/// The rates in steps of one interval, or from the beginning.
class Meter {
 public:
  Meter(double interval_s, bool is_average, std::uint64_t starting_frame)
      : interval_s_(interval_s), is_average_(is_average), left_out_(starting_frame) {}

  void add(const std::string& stream, Clock::time_point now, std::optional<double> latency_ms, Extras extras) {
    if (left_out_ > 0) {
      --left_out_;
      return;
    }
    const auto [one, is_new] = streams_.try_emplace(stream);
    if (streams_.size() == 1 && is_new) begin_ = told_ = now;
    if (is_average_ && is_new && streams_.size() > 1) restart(now);  // The average is one over the same streams.
    if (one->second.last) one->second.gaps_ms.add(seconds_between(*one->second.last, now) * 1e3);
    if (latency_ms) one->second.latencies_ms.add(*latency_ms);
    one->second.last = now;
    ++one->second.frames;
    if (seconds_between(told_, now) < interval_s_) return;
    tell(is_average_ ? "average" : "last", seconds_between(is_average_ ? begin_ : told_, now), extras);
    if (!is_average_) restart(now);
    told_ = now;
  }

  void remove(const std::string& stream, Clock::time_point now, Extras extras) {
    if (streams_.count(stream) == 0) return;
    if (is_average_) tell("overall", seconds_between(begin_, now), extras);
    streams_.erase(stream);
    restart(now);
  }

  double average(Clock::time_point now) const {
    const double seconds = seconds_between(begin_, now);
    if (streams_.empty() || seconds < kLeastSeconds) return 0;
    return frames() / seconds / static_cast<double>(streams_.size());
  }

 private:
  struct Stream {
    std::uint64_t frames = 0;
    std::optional<Clock::time_point> last;
    Spread gaps_ms, latencies_ms;
  };

  double frames() const {
    double all = 0;
    for (const auto& [name, stream] : streams_) all += static_cast<double>(stream.frames);
    return all;
  }

  void restart(Clock::time_point now) {
    begin_ = told_ = now;
    for (auto& [name, stream] : streams_) stream.frames = 0, stream.gaps_ms = stream.latencies_ms = {};
  }

  void tell(const char* of, double seconds, Extras extras) const {
    if (seconds < kLeastSeconds) {
      std::printf("FPSCounter: Not enough data for calculation. The time interval (%.7f sec) is too short.\n", seconds);
      return;
    }
    const auto count = static_cast<double>(streams_.size());
    std::printf("FpsCounter(%s %.2fsec): total=%.2f fps, number-streams=%zu, per-stream=%.2f fps", of, seconds,
                frames() / seconds, streams_.size(), frames() / seconds / count);
    each("", [&](const Stream& one) { return static_cast<double>(one.frames) / seconds; });
    if (extras.deviation) line("std dev interval", [](const Stream& one) { return one.gaps_ms.deviation(); });
    if (extras.latency) line("latency", [](const Stream& one) { return one.latencies_ms.mean(); });
    std::printf("\n");
    std::fflush(stdout);
  }

  /// A number of each stream, if there are several.
  template <typename Of>
  void each(const char* unit, Of of) const {
    if (streams_.size() < 2) return;
    const char* before = " (";
    for (const auto& [name, stream] : streams_) {
      std::printf("%s%.2f%s", before, of(stream), unit);
      before = ", ";
    }
    std::printf(")");
  }

  template <typename Of>
  void line(const char* name, Of of) const {
    double sum = 0;
    for (const auto& [stream, one] : streams_) sum += of(one);
    std::printf("\n%s: %.2fms", name, sum / static_cast<double>(streams_.size()));
    each("", of);
  }

  const double interval_s_;
  const bool is_average_;
  std::uint64_t left_out_;
  Clock::time_point begin_, told_;
  std::map<std::string, Stream> streams_;
};

/// The meters of the process, while an element is there.
class Meters {
 public:
  void join(const std::vector<std::string>& intervals, std::uint64_t starting_frame) {
    const std::lock_guard lock(mutex_);
    ++members_;
    for (const std::string& text : intervals) steps_.try_emplace(text, std::stod(text), false, 0);
    if (!average_) average_.emplace(1.0, true, starting_frame);
  }
  void leave(const std::string& stream, Extras extras) {
    const std::lock_guard lock(mutex_);
    end_locked(stream, extras);
    if (--members_ > 0) return;
    steps_.clear();
    average_.reset();
  }
  void end(const std::string& stream, Extras extras) {
    const std::lock_guard lock(mutex_);
    end_locked(stream, extras);
  }
  void add(const std::string& stream, std::optional<double> latency_ms, Extras extras) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto& [interval, meter] : steps_) meter.add(stream, now, latency_ms, extras);
    if (average_) average_->add(stream, now, latency_ms, {});
  }
  double average() {
    const std::lock_guard lock(mutex_);
    const double rate = average_ ? average_->average(Clock::now()) : 0;
    if (rate > 0) last_average_ = rate;  // Else the streams have ended.
    return last_average_;
  }

 private:
  void end_locked(const std::string& stream, Extras extras) {
    const auto now = Clock::now();
    for (auto& [interval, meter] : steps_) meter.remove(stream, now, extras);
    if (!average_) return;
    if (const double rate = average_->average(now); rate > 0) last_average_ = rate;
    average_->remove(stream, now, {});
  }

  std::mutex mutex_;
  std::map<std::string, Meter> steps_;  ///< By the text of the interval.
  std::optional<Meter> average_;
  double last_average_ = 0;
  int members_ = 0;
};

Meters& meters() {
  static Meters all;
  return all;
}

class FpsCounter final : public InPlace {
 public:
  using InPlace::InPlace;
  static void init_class(GstBaseTransformClass* base_class, Kind& kind) { init_class_of<FpsCounter>(base_class, kind); }

  bool get_property(guint number, GValue* value) const override {
    if (number == 0 || number > kind().properties.size() || kind().properties[number - 1] != "avg-fps")
      return InPlace::get_property(number, value);
    g_value_set_float(value, static_cast<gfloat>(meters().average()));
    return true;
  }

 private:
  void start(const elements::Parameters& given) override {
    const std::vector<std::string> intervals = parts_of(given.text("interval"), ',');
    for (const std::string& one : intervals) number_of(one, given.owner() + ": interval", 1, 1e9);
    if (intervals.empty())
      throw Error(Code::kInvalidArgument, given.owner() + ": interval is empty; expected seconds, as 1 or 1,10");
    extras_ = {given.flag("print-std-dev"), given.flag("print-latency")};
    stream_ = name();
    meters().join(intervals, static_cast<std::uint64_t>(given.integer("starting-frame")));
    has_joined_ = true;
  }
  void process(GstBuffer* buffer) override { meters().add(stream_, latency_of(buffer), extras_); }
  void end() override { meters().end(stream_, extras_); }
  void stop() override {
    if (has_joined_) meters().leave(stream_, extras_);
    has_joined_ = false;
  }

  /// The time since the buffer's time code, in milliseconds.
  std::optional<double> latency_of(GstBuffer* buffer) const {
    const GstVideoTimeCodeMeta* const meta = extras_.latency ? gst_buffer_get_video_time_code_meta(buffer) : nullptr;
    if (!meta) return std::nullopt;
    GDateTime* const time = gst_video_time_code_to_date_time(&meta->tc);
    if (!time) return std::nullopt;
    const double then_ms =
        static_cast<double>(g_date_time_to_unix(time)) * 1e3 + g_date_time_get_microsecond(time) * 1e-3;
    g_date_time_unref(time);
    return static_cast<double>(g_get_real_time()) * 1e-3 - then_ms;
  }

  Extras extras_;
  std::string stream_;
  bool has_joined_ = false;
};

}  // namespace

GType fps_counter_type(Kind& kind) {
  return register_type<FpsCounter, GstBaseTransform, GstBaseTransformClass>(GST_TYPE_BASE_TRANSFORM, kind);
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
