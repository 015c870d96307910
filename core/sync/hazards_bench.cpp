// SPDX-License-Identifier: Apache-2.0
// The cost of noting work on a memory, and of mapping memory with running or finished work.
#include <benchmark/benchmark.h>

#include <array>
#include <thread>

#include <tenon/core/hazards.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/tensor.hpp>

namespace {

using namespace tenon;

/// libstdc++ counts without atomics until a second thread has run; real programs have run one.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

constexpr MemoryKind kLibrary{"bench.library"};
class LibraryContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "library"; }
  MemoryKind kind() const override { return kLibrary; }
};
class ToLibrary final : public HostEdge {
 public:
  std::string_view name() const override { return "cpu->library"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kLibrary; }
};

struct Mapped {
  const ToLibrary edge;
  const Context library{make_ref<LibraryContext>()};
  Router router;
  const Tensor source{element::u8, {4096}};
  const Ref<HostTimeline> device = make_ref<HostTimeline>("a device");
  MapOptions options;
  Mapped() {
    const std::array<const Edge*, 1> edges{&edge};
    router.add(edges);
  }
  void repeat(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(router.map(source, library, options));
  }
};

void MapWithoutWork(benchmark::State& state) { Mapped().repeat(state); }
BENCHMARK(MapWithoutWork)->Name("Map/standing/no_work_ever");

void MapAfterWork(benchmark::State& state) {
  Mapped mapped;
  mapped.source.memory()->hazards().wrote(mapped.device->next());
  mapped.device->advance(1);
  mapped.repeat(state);
}
BENCHMARK(MapAfterWork)->Name("Map/standing/work_was_finished");

void MapWhileItIsRead(benchmark::State& state) {
  Mapped mapped;
  mapped.source.memory()->hazards().read_until(mapped.device->next());
  mapped.repeat(state);
}
BENCHMARK(MapWhileItIsRead)->Name("Map/standing/one_pending_reader");

/// The steady state of a stream: each frame is written until a point, which is reached when the frame is mapped.
void NoteAndMap(benchmark::State& state) {
  Mapped mapped;
  for (auto _ : state) {
    const TimelinePoint end = mapped.device->next();
    mapped.source.memory()->hazards().wrote(end);
    mapped.device->advance(end.value());
    benchmark::DoNotOptimize(mapped.router.map(mapped.source, mapped.library, mapped.options));
  }
}
BENCHMARK(NoteAndMap)->Name("Map/standing/written_each_time");

void NoteWriter(benchmark::State& state) {
  const Tensor tensor(element::u8, {4096});
  const auto device = make_ref<HostTimeline>("a device");
  Hazards& hazards = tensor.memory()->hazards();
  for (auto _ : state) hazards.wrote(device->next());
}
BENCHMARK(NoteWriter)->Name("Note/writer");

void NoteInference(benchmark::State& state) {
  const Tensor tensor(element::u8, {4096});
  const auto device = make_ref<HostTimeline>("a device");
  Hazards& hazards = tensor.memory()->hazards();
  for (auto _ : state) {
    const TimelinePoint end = device->next();
    benchmark::DoNotOptimize(hazards.begin(Access::kWrite, end));
    device->advance(end.value());
  }
}
BENCHMARK(NoteInference)->Name("Note/begin_and_advance");

}  // namespace
