// SPDX-License-Identifier: Apache-2.0
// A source of pictures from nowhere, an element that does nothing, a sink that keeps nothing: to try pipelines with.
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/internal/basic.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

/// One buffer again and again: what it costs is what the pipeline costs.
class TestSource final : public Source {
 public:
  explicit TestSource(const Parameters& given)
      : frames_(given.integer("frames")), per_second_(given.number("fps")), is_live_(given.flag("live")) {
    info_.format = kNv12;
    info_.width_px = static_cast<std::uint32_t>(given.integer("width"));
    info_.height_px = static_cast<std::uint32_t>(given.integer("height"));
  }
  StreamInfo open(Deadline) override {
    next_ = 0;
    begin_ = Clock::now();
    return {info_, per_second_, is_live_};
  }
  void allocate(const Requirements& wanted, std::span<const Party>) override {
    Requirements all = wanted;
    all.host_access = true;
    all.size_bytes = Frame::size_bytes_for(info_, all);
    picture_ = Frame::over(info_, cpu::context()->allocate(all), all);
  }
  std::optional<Frame> read(Deadline deadline) override {
    if (frames_ != 0 && next_ == frames_) return std::nullopt;
    const double second = per_second_ > 0 ? static_cast<double>(next_) / per_second_ : 0;
    const auto after = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(second));
    if (is_live_ && begin_ + after > Clock::now()) {
      std::this_thread::sleep_until(std::min(begin_ + after, deadline));
      if (begin_ + after > deadline) throw Error(Code::kDeadlineExceeded, "test: the next frame is not due yet");
    }
    ++next_;
    Frame frame = picture_;
    frame.set_timestamp_ns(std::chrono::nanoseconds(after).count());
    return frame;
  }

 private:
  const std::int64_t frames_;
  const double per_second_;
  const bool is_live_;
  FrameInfo info_;
  Frame picture_;
  std::int64_t next_ = 0;
  Clock::time_point begin_{};
};

class Identity final : public TransformInplace {
 public:
  void process(std::uint32_t, Frame&) override {}
  void process_audio(std::uint32_t, AudioFrame&) override {}
};

class NullSink final : public Sink {
 public:
  void write(std::uint32_t, const Frame&) override {}
  void write_audio(std::uint32_t, const AudioFrame&) override {}
};

}  // namespace

std::vector<KnownElement> basic_elements() {
  const auto no_parameters = [](auto make) {
    return [make](const Parameters&, const Environment&) -> AnyElement { return make(); };
  };
  return {
      {{"test",
        "NV12 pictures from nowhere, to try a pipeline with",
        Role::kSource,
        {{"frames", "How many; 0: without end", std::int64_t{0}, false, 0},
         {"width", "Pixels", std::int64_t{640}, false, 2, 16384},
         {"height", "Pixels", std::int64_t{480}, false, 2, 16384},
         {"fps", "Frames per second of its clock", 30.0, false, 0, 1e6},
         {"live", "Waits until each frame's time has come", false}}},
       [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<TestSource>(given); }},
      {{"identity", "Does nothing", Role::kTransformInplace, {}, false, false, Takes::kBoth},
       no_parameters([]() -> AnyElement { return std::make_unique<Identity>(); })},
      convert_element(),
      {{"null", "Takes all frames and keeps none", Role::kSink, {}, false, false, Takes::kBoth},
       no_parameters([]() -> AnyElement { return std::make_unique<NullSink>(); })},
  };
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
