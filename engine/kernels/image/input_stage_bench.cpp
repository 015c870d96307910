// SPDX-License-Identifier: Apache-2.0
// The input stage beside what people write without it: OpenCV (cvtColor, resize, convertTo) and swscale plus a loop.
#include <tenon/engine/kernels/image/input_stage.hpp>

#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <tbb/task_arena.h>

#include <tenon/graph/input_stage/input_stage.hpp>
#ifdef TENON_HAS_OPENCV
#include <opencv2/imgproc.hpp>
#endif
#ifdef TENON_HAS_SWSCALE
extern "C" {
#include <libswscale/swscale.h>
}
#endif

namespace {

using namespace tenon;

struct Case {
  std::uint32_t w, h;
  std::size_t width, height;
};
constexpr Case kCases[] = {{1280, 720, 512, 288}, {1920, 1080, 640, 640}, {3840, 2160, 640, 640}, {640, 360, 640, 640}};

/// A frame as a decoder leaves it: rows 64 bytes aligned, a smooth picture with some noise.
struct Picture {
  std::vector<std::vector<std::uint8_t>> blocks;
  std::vector<PlaneView> views;

  explicit Picture(const InputStageSpec& spec) {
    std::uint32_t state = 7;
    for (std::size_t plane = 0; plane < spec.layout.plane_count; ++plane) {
      const Shape shape = spec.plane_shape(plane);
      const std::size_t row = shape[2] * shape[3] * size_bytes(spec.layout.sample_type());
      const std::size_t pitch = (row + 63) / 64 * 64;
      blocks.emplace_back(pitch * shape[1]);
      for (std::size_t i = 0; i < blocks.back().size(); ++i) {
        state = state * 1664525u + 1013904223u;
        blocks.back()[i] = static_cast<std::uint8_t>(96 + (i % pitch) % 64 + (state >> 28));
      }
      views.push_back({blocks.back().data(), static_cast<std::ptrdiff_t>(pitch)});
    }
  }
};

InputStageOptions options_for(PixelFormat format, const Case& c) {
  InputStageOptions options;
  options.source = {format, c.w, c.h, ColourSpace::kBt709, ColourRange::kLimited};
  options.width = c.width;
  options.height = c.height;
  options.scale = {255, 255, 255};
  return options;
}

void count(benchmark::State& state, const Case& c) {
  state.counters["src_MB"] = c.w * c.h * 1.5 / 1e6;
  state.counters["pixels/s"] =
      benchmark::Counter(static_cast<double>(c.width * c.height), benchmark::Counter::kIsIterationInvariantRate);
}

void Tenon(benchmark::State& state, PixelFormat format, int threads) {
  const Case& c = kCases[state.range(0)];
  const InputStageSpec spec = make_spec(options_for(format, c));
  const engine::InputStagePlan plan(spec);
  const Picture picture(spec);
  std::vector<float> target(element_count(spec.target_shape()));
  tbb::task_arena arena(threads);
  arena.execute([&] {
    for (auto _ : state) {
      if (threads == 1)
        plan.run_rows(picture.views, target.data(), 0, spec.height);
      else
        plan.run(picture.views, target.data());
      benchmark::DoNotOptimize(target.data());
      benchmark::ClobberMemory();
    }
  });
  count(state, c);
}
BENCHMARK_CAPTURE(Tenon, i420_one_thread, kI420, 1)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Tenon, i420_two_threads, kI420, 2)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(Tenon, nv12_one_thread, kNv12, 1)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Tenon, p010_one_thread, kP010, 1)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Tenon, bgr_one_thread, kBgr24, 1)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Tenon, rgba_one_thread, kRgba, 1)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);

void Reference(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const InputStageSpec spec = make_spec(options_for(kI420, c));
  const Picture picture(spec);
  std::vector<float> target(element_count(spec.target_shape()));
  for (auto _ : state) run_input_stage_reference(spec, picture.views, target.data());
  count(state, c);
}
BENCHMARK(Reference)->DenseRange(0, 0)->Unit(benchmark::kMicrosecond);

#ifdef TENON_HAS_OPENCV
// cvtColor to a full RGB picture, resize, convertTo float, split into planes of the tensor.
void OpenCv(benchmark::State& state) {
  cv::setNumThreads(1);
  const Case& c = kCases[state.range(0)];
  cv::Mat yuv(static_cast<int>(c.h * 3 / 2), static_cast<int>(c.w), CV_8UC1, cv::Scalar(120)), rgb, small, real;
  std::vector<float> target(3 * c.width * c.height);
  const int w = static_cast<int>(c.width), h = static_cast<int>(c.height);
  std::vector<cv::Mat> planes;
  for (std::size_t p = 0; p < 3; ++p) planes.emplace_back(h, w, CV_32FC1, target.data() + p * c.width * c.height);
  for (auto _ : state) {
    cv::cvtColor(yuv, rgb, cv::COLOR_YUV2RGB_I420);
    cv::resize(rgb, small, cv::Size(w, h), 0, 0, cv::INTER_LINEAR);
    small.convertTo(real, CV_32FC3, 1.0 / 255);
    cv::split(real, planes);
    benchmark::ClobberMemory();
  }
  count(state, c);
}
BENCHMARK(OpenCv)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
#endif

#ifdef TENON_HAS_SWSCALE
// One sws_scale from I420 to packed RGB of the target's size, then normalisation into planes.
void Swscale(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const InputStageSpec spec = make_spec(options_for(kI420, c));
  const Picture picture(spec);
  const int w = static_cast<int>(c.width), h = static_cast<int>(c.height);
  const std::unique_ptr<SwsContext, void (*)(SwsContext*)> sws(
      sws_getContext(static_cast<int>(c.w), static_cast<int>(c.h), AV_PIX_FMT_YUV420P, w, h, AV_PIX_FMT_RGB24,
                     SWS_BILINEAR, nullptr, nullptr, nullptr),
      sws_freeContext);
  const int rgb_pitch = (w * 3 + 63) / 64 * 64;
  std::vector<std::uint8_t> rgb(static_cast<std::size_t>(rgb_pitch) * c.height);
  std::vector<float> target(3 * c.width * c.height);
  const std::uint8_t* src[4] = {};
  int src_pitch[4] = {};
  for (std::size_t p = 0; p < 3; ++p) {
    src[p] = static_cast<const std::uint8_t*>(picture.views[p].data);
    src_pitch[p] = static_cast<int>(picture.views[p].pitch_bytes);
  }
  std::uint8_t* dst[4] = {rgb.data()};
  const int dst_pitch[4] = {rgb_pitch};
  for (auto _ : state) {
    sws_scale(sws.get(), src, src_pitch, 0, static_cast<int>(c.h), dst, dst_pitch);
    const std::size_t plane = c.width * c.height;
    for (std::size_t y = 0; y < c.height; ++y) {
      const std::uint8_t* row = rgb.data() + y * static_cast<std::size_t>(rgb_pitch);
      float* out = target.data() + y * c.width;
      for (std::size_t x = 0; x < c.width; ++x) {
        for (std::size_t k = 0; k < 3; ++k) out[k * plane + x] = row[3 * x + k] * (1.0f / 255);
      }
    }
    benchmark::ClobberMemory();
  }
  count(state, c);
}
BENCHMARK(Swscale)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
#endif

}  // namespace
