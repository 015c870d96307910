// SPDX-License-Identifier: Apache-2.0
// What following many objects costs a picture, and what looking for motion costs. The bound for 500 objects is 1 ms.
#include <algorithm>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include <tenon/vision/camera_motion.hpp>
#include <tenon/vision/motion.hpp>
#include <tenon/vision/tracker.hpp>

namespace {

using namespace tenon;

/// Objects that move at random in a 4K picture, so that many overlap.
struct Crowd {
  std::vector<std::vector<vision::Detection>> pictures;
  std::vector<std::vector<float>> looks;
  static constexpr std::size_t kLength = 256;
  explicit Crowd(std::size_t count) : pictures(64), looks(64) {
    std::minstd_rand random(1);
    std::normal_distribution<float> off(0, 1);
    std::vector<vision::Box> boxes;
    std::vector<std::pair<float, float>> ways;
    std::vector<float> faces(count * kLength);
    for (float& one : faces) one = off(random);
    for (std::size_t k = 0; k < count; ++k) {
      const auto x = static_cast<float>(random() % 3700), y = static_cast<float>(random() % 2000);
      boxes.push_back({x, y, x + 60, y + 120});
      ways.emplace_back(3 * off(random), 2 * off(random));
    }
    for (std::size_t f = 0; f < pictures.size(); ++f) {
      for (std::size_t k = 0; k < count; ++k) {
        const float x = boxes[k].x1 + ways[k].first * static_cast<float>(f) + off(random),
                    y = boxes[k].y1 + ways[k].second * static_cast<float>(f) + off(random);
        if (random() % 20 == 0) continue;
        pictures[f].push_back({{x, y, x + 60, y + 120}, 0, random() % 10 == 0 ? 0.3f : 0.9f, ""});
        for (std::size_t i = 0; i < kLength; ++i) looks[f].push_back(faces[k * kLength + i] + 0.3f * off(random));
      }
    }
  }
};

void follow(benchmark::State& state, bool has_features) {
  const Crowd crowd(static_cast<std::size_t>(state.range(0)));
  vision::Tracker tracker;
  std::size_t f = 0;
  for (auto _ : state) {
    const std::size_t at = f % 126 < 63 ? f % 126 : 126 - f % 126;  // There and back, without a jump.
    ++f;
    benchmark::DoNotOptimize(tracker.update(
        crowd.pictures[at], has_features ? vision::Appearance{crowd.looks[at], Crowd::kLength} : vision::Appearance{}));
  }
  state.counters["objects"] = static_cast<double>(tracker.size());
}
void track(benchmark::State& state) { follow(state, false); }
void track_with_features(benchmark::State& state) { follow(state, true); }
BENCHMARK(track)->Arg(50)->Arg(500)->Unit(benchmark::kMicrosecond);
BENCHMARK(track_with_features)->Arg(50)->Arg(500)->Unit(benchmark::kMicrosecond);

Frame noise(std::uint32_t seed) {
  Frame frame = Frame::allocate({kNv12, 1920, 1080});
  std::minstd_rand random(seed);
  auto* const luma = static_cast<std::uint8_t*>(frame.plane(0).data());
  const auto bytes = static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) * 1080;
  for (std::size_t i = 0; i < bytes; ++i) luma[i] = static_cast<std::uint8_t>(i / 40 * 7919 % 200 + random() % 16);
  return frame;
}

/// The lower bound: reading the luma plane once.
void read_luma(benchmark::State& state) {
  const Frame frame = noise(1);
  const auto* const luma = static_cast<const std::uint8_t*>(frame.plane(0).data());
  const auto bytes = static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) * 1080;
  std::vector<std::uint8_t> copy(bytes);
  for (auto _ : state) {
    std::copy_n(luma, bytes, copy.begin());
    benchmark::DoNotOptimize(copy.data());
  }
}
void motion(benchmark::State& state) {
  const Frame a = noise(1), b = noise(2);
  vision::MotionDetector detector;
  bool is_a = false;
  for (auto _ : state) benchmark::DoNotOptimize(detector.update((is_a = !is_a) ? a : b));
}
void camera_motion(benchmark::State& state) {
  const Frame a = noise(1), b = noise(2);
  vision::CameraMotion camera;
  bool is_a = false;
  for (auto _ : state) benchmark::DoNotOptimize(camera.update((is_a = !is_a) ? a : b));
}
BENCHMARK(read_luma)->Unit(benchmark::kMicrosecond);
BENCHMARK(motion)->Unit(benchmark::kMicrosecond);
BENCHMARK(camera_motion)->Unit(benchmark::kMicrosecond);

}  // namespace
