// SPDX-License-Identifier: Apache-2.0
// The overhead of pipelines: a hand-over by a queue, an element that does nothing, and 64 streams without work.
#include <benchmark/benchmark.h>

#include <string>
#include <thread>

#include <tenon/elements/element.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/queue.hpp>

namespace tenon::elements {
namespace {

void queue_between_threads(benchmark::State& state) {
  Queue<Item> queue({static_cast<std::size_t>(state.range(0))});
  std::thread reader([&] {
    while (queue.pop()) {
    }
  });
  for (auto _ : state) queue.push({}, true);
  queue.close(false);
  reader.join();
}
BENCHMARK(queue_between_threads)->Arg(4)->Arg(64)->UseRealTime();

/// A chain of `range(0)` elements that do nothing.
void identities(benchmark::State& state) {
  constexpr int kFrames = 100'000;
  for (auto _ : state) {
    PipelineSpec spec{{{"test", "source", {{"frames", std::to_string(kFrames)}, {"width", "16"}, {"height", "16"}}}}};
    for (int i = 0; i < state.range(0); ++i) spec.nodes.push_back({"identity"});
    spec.nodes.push_back({"null"});
    Pipeline pipeline(spec);
    pipeline.start();
    pipeline.wait(Clock::now() + std::chrono::minutes(1));
  }
  // Source and sink count as elements, too.
  const auto calls = static_cast<double>(state.iterations() * (state.range(0) + 2)) * kFrames;
  state.counters["ns_per_element"] =
      benchmark::Counter(calls, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(identities)->Arg(0)->Arg(10)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Several streams into one sink with a thread.
void streams(benchmark::State& state) {
  constexpr int kFrames = 2'000;
  for (auto _ : state) {
    PipelineSpec spec;
    std::vector<std::string> names;
    for (int i = 0; i < state.range(0); ++i) {
      names.push_back("source" + std::to_string(i));
      spec.nodes.push_back(
          {"test", names.back(), {{"frames", std::to_string(kFrames)}, {"width", "16"}, {"height", "16"}}});
    }
    spec.nodes.push_back({"null", "", {}, names, QueueOptions{64}});
    Pipeline pipeline(spec);
    pipeline.start();
    pipeline.wait(Clock::now() + std::chrono::minutes(1));
  }
  state.counters["frames_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)) * kFrames, benchmark::Counter::kIsRate);
}
BENCHMARK(streams)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon::elements
