// SPDX-License-Identifier: Apache-2.0
// The elements that need no library, to try pipelines with: a test source, an element that does nothing, and a null sink.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/internal/basic.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

/// Eight bars, as television's test card has them (BT.709, limited range, 75%), over a ramp from black to white.
void paint_bars(const Frame& picture) {
  struct Bar {
    std::uint8_t luma, blue, red;
  };
  constexpr std::array<Bar, 8> kBars{{{180, 128, 128},
                                      {168, 44, 136},
                                      {145, 147, 44},
                                      {133, 63, 52},
                                      {63, 193, 204},
                                      {51, 109, 212},
                                      {28, 212, 120},
                                      {16, 128, 128}}};
  const std::size_t width = picture.info().width_px, height = picture.info().height_px, bars = height * 3 / 4;
  const auto row_of = [&](std::size_t plane, std::size_t y) {
    const Tensor& rows = picture.plane(plane);
    return static_cast<std::uint8_t*>(rows.data()) + rows.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
  };
  const auto bar_at = [&](std::size_t x) { return kBars[x * kBars.size() / width]; };
  for (std::size_t y = 0; y < height; ++y) {
    std::uint8_t* const row = row_of(0, y);
    for (std::size_t x = 0; x < width; ++x)
      row[x] = y < bars ? bar_at(x).luma : static_cast<std::uint8_t>(16 + 219 * x / width);
  }
  for (std::size_t y = 0; y < picture.plane(1).shape()[0]; ++y) {
    std::uint8_t* const row = row_of(1, y);
    for (std::size_t x = 0; x + 1 < picture.plane(1).shape()[1] * 2; x += 2) {
      row[x] = 2 * y < bars ? bar_at(std::min(x, width - 1)).blue : 128;
      row[x + 1] = 2 * y < bars ? bar_at(std::min(x, width - 1)).red : 128;
    }
  }
}

/// Gives the same buffer again and again, which is painted once: all the time that is measured with it is the pipeline's.
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
    paint_bars(picture_);
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
        "Makes NV12 pictures of coloured bars, to try a pipeline with",
        Role::kSource,
        {{"frames", "Number of frames; 0: without end", std::int64_t{0}, false, 0},
         {"width", "Width in pixels", std::int64_t{640}, false, 2, 16384},
         {"height", "Height in pixels", std::int64_t{480}, false, 2, 16384},
         {"fps", "Frames per second of the timestamps", 30.0, false, 0, 1e6},
         {"live", "Delivers each frame when its time has come, as a camera does", false}}},
       [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<TestSource>(given); }},
      {{"identity", "Passes frames on unchanged", Role::kTransformInplace, {}, false, false, Takes::kBoth},
       no_parameters([]() -> AnyElement { return std::make_unique<Identity>(); })},
      convert_element(),
      throttle_element(),
      aggregate_element(),
      {{"null", "Takes all frames and keeps none", Role::kSink, {}, false, false, Takes::kBoth},
       no_parameters([]() -> AnyElement { return std::make_unique<NullSink>(); })},
  };
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
