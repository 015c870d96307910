// SPDX-License-Identifier: Apache-2.0
// Four H.264 streams of 1080p into a sink that drops them: a pipeline, and a program with a thread for each stream.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tenon/elements/pipeline.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace tenon::elements {
namespace {

constexpr int kFrames = 60;

/// The path of the clip, which is made once.
const std::string& clip() {
  static const auto folder = std::make_unique<tenon_test::Folder>();
  static const std::string path = [] {
    tenon_test::make_clip(folder->file("1080p.mp4"), {.width = 1920, .height = 1088, .frames = kFrames});
    return folder->file("1080p.mp4");
  }();
  return path;
}

void count(benchmark::State& state, int streams) {
  state.counters["frames_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations() * streams) * kFrames, benchmark::Counter::kIsRate);
}

void pipeline(benchmark::State& state) {
  const auto streams = static_cast<int>(state.range(0));
  PipelineSpec spec;
  std::vector<std::string> names;
  for (int i = 0; i < streams; ++i) {
    names.push_back("stream" + std::to_string(i));
    spec.nodes.push_back({"file", names.back(), {{"path", clip()}, {"threads", "1"}}});
  }
  spec.nodes.push_back({"identity", "", {}, names});
  spec.nodes.push_back({"null"});
  std::uint64_t copied = 0;
  for (auto _ : state) {
    Pipeline running(spec);
    running.start();
    running.wait(Clock::now() + std::chrono::minutes(5));
    if (!running.failures().empty()) state.SkipWithError(running.failures().front().message.c_str());
    for (const NodeStats& node : running.stats()) copied += node.moved.copied + node.moved.converted;
  }
  count(state, streams);
  state.counters["copied_bytes"] = static_cast<double>(copied);
}
BENCHMARK(pipeline)->Arg(1)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);

void threads_by_hand(benchmark::State& state) {
  const auto streams = static_cast<int>(state.range(0));
  const std::string& path = clip();
  for (auto _ : state) {
    std::atomic<int> frames{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < streams; ++i) {
      threads.emplace_back([&] {
        tenon::ffmpeg::Options options;
        options.threads = 1;
        tenon::ffmpeg::Video video(path, options);
        while (video.read()) ++frames;
      });
    }
    for (std::thread& one : threads) one.join();
    if (frames != streams * kFrames) state.SkipWithError("frames are missing");
  }
  count(state, streams);
}
BENCHMARK(threads_by_hand)->Arg(1)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon::elements
