// SPDX-License-Identifier: Apache-2.0
// Costs of maps between host memory and USM beside the bare calls, in the same run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <tenon/core/deferred.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/level_zero/contexts.hpp>

namespace {

using namespace tenon;

// Reference counts cost more once a thread has run, as in real programs.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

constexpr std::size_t kBytes = (1920 * 1080 * 3 / 2 + 4095) / 4096 * 4096;  // 1080p NV12, in whole pages.

Context device_or_skip(benchmark::State& state, bool imports = false) {
  try {
    static const Context* context = new Context(level_zero::make_context());
    state.SetLabel(level_zero::device(*context).name);
    if (!imports || level_zero::device(*context).imports_system_memory()) return *context;
    state.SkipWithError("the driver imports no system memory");
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
  return {};
}

std::byte* host_block() {
  static auto* block = static_cast<std::byte*>(std::aligned_alloc(4096, kBytes));
  return block;
}

/// An import written by hand, as a program without Tenon would.
void* import_by_hand(const Context& context) {
  level_zero::abi::ExternalSystemMemory pages;
  pages.data = host_block();
  pages.size = kBytes;
  const auto wanted = level_zero::detail::host_descriptor({}, &pages);
  void* data = nullptr;
  if (zeMemAllocHost(level_zero::handle(context), &wanted, kBytes, 0, &data) != ZE_RESULT_SUCCESS) return nullptr;
  return data;
}

/// What a careful program does by hand: finds this memory's import in a table shared by threads and holds it during
/// use.
void RepeatFloor(benchmark::State& state) {
  const Context context = device_or_skip(state, true);
  if (!context) return;
  const std::shared_ptr<void> import(import_by_hand(context),
                                     [&](void* data) { zeMemFree(level_zero::handle(context), data); });
  std::unordered_map<const void*, std::shared_ptr<void>> table{{host_block(), import}};
  std::mutex mutex;
  for (auto _ : state) {
    std::shared_ptr<void> found;
    {
      const std::lock_guard lock(mutex);
      found = table.find(host_block())->second;
    }
    benchmark::DoNotOptimize(found.get());
  }
}
BENCHMARK(RepeatFloor)->Name("Map/floor/find_and_hold");

void Repeat(benchmark::State& state) {
  const Context context = device_or_skip(state, true);
  if (!context) return;
  Router router;
  router.add(context);
  const Tensor source(element::u8, {kBytes}, host_block());
  for (auto _ : state) {
    const Tensor mapped = router.map(source, context);
    benchmark::DoNotOptimize(level_zero::usm_pointer(mapped));
  }
}
BENCHMARK(Repeat)->Name("Map/cpu->level_zero.usm/1080p_nv12_repeat");

void FirstFloor(benchmark::State& state) {
  const Context context = device_or_skip(state, true);
  if (!context) return;
  for (auto _ : state) {
    void* data = import_by_hand(context);
    benchmark::DoNotOptimize(data);
    zeMemFree(level_zero::handle(context), data);
  }
}
BENCHMARK(FirstFloor)->Name("Map/floor/import_free");

void First(benchmark::State& state) {
  const Context context = device_or_skip(state, true);
  if (!context) return;
  Router router;
  router.add(context);
  for (auto _ : state) {
    const Tensor source(element::u8, {kBytes}, host_block());
    const Tensor mapped = router.map(source, context);
    benchmark::DoNotOptimize(level_zero::usm_pointer(mapped));
  }
}
BENCHMARK(First)->Name("Map/cpu->level_zero.usm/1080p_nv12_first");

void CopyFloor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  const Tensor target = level_zero::allocate(context, level_zero::UsmType::kHost, {element::u8, {kBytes}, {}});
  for (auto _ : state) {
    std::memcpy(level_zero::usm_pointer(target), host_block(), kBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
}
BENCHMARK(CopyFloor)->Name("Map/floor/memcpy_1080p_nv12");

void ToCpu(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  Router router;
  router.add(context);
  router.add(host_context());
  const Tensor source = level_zero::allocate(context, level_zero::UsmType::kHost, {element::u8, {kBytes}, {}});
  for (auto _ : state) {
    const Tensor mapped = router.map(source, host_context());
    benchmark::DoNotOptimize(mapped.data());
  }
}
BENCHMARK(ToCpu)->Name("Map/level_zero.usm->cpu/1080p_nv12_repeat");

void Allocate(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  for (auto _ : state)
    benchmark::DoNotOptimize(level_zero::allocate(context, level_zero::UsmType::kHost, {element::u8, {kBytes}, {}}));
}
BENCHMARK(Allocate)->Name("Allocate/level_zero.usm/host");

void AllocateFloor(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  const auto wanted = level_zero::detail::host_descriptor({}, nullptr);
  for (auto _ : state) {
    void* data = nullptr;
    zeMemAllocHost(level_zero::handle(context), &wanted, kBytes, 64, &data);
    benchmark::DoNotOptimize(data);
    zeMemFree(level_zero::handle(context), data);
  }
}
BENCHMARK(AllocateFloor)->Name("Allocate/floor/zeMemAllocHost_zeMemFree");

/// A wait list for a point of another API, until it is signalled and its event is on the shelf again.
void WaitForForeignPoint(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  const Tensor tensor = level_zero::allocate(context, level_zero::UsmType::kHost, {element::u8, {64}, {}});
  const auto producer = make_ref<HostTimeline>("a producer");
  for (auto _ : state) {
    const TimelinePoint written = producer->next();
    tensor.memory()->hazards().wrote(written);
    level_zero::WaitList list = level_zero::wait_list(tensor, Access::kRead);
    producer->advance(written.value());
    zeEventHostSynchronize(*list.data(), 1'000'000'000);
  }
  drain_deferred(default_deadline());
}
BENCHMARK(WaitForForeignPoint)->Name("WaitList/foreign_point/until_signalled")->UseRealTime();

/// One event of the user's, noted and handed on.
void WaitForEvent(benchmark::State& state) {
  const Context context = device_or_skip(state);
  if (!context) return;
  ze_event_pool_desc_t pool_wanted{};
  pool_wanted.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool_wanted.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool_wanted.count = 1;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t event = nullptr;
  ze_event_desc_t wanted{};
  wanted.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  if (zeEventPoolCreate(level_zero::handle(context), &pool_wanted, 0, nullptr, &pool) != ZE_RESULT_SUCCESS ||
      zeEventCreate(pool, &wanted, &event) != ZE_RESULT_SUCCESS)
    return state.SkipWithError("no event");
  const Tensor tensor = level_zero::allocate(context, level_zero::UsmType::kHost, {element::u8, {64}, {}});
  for (auto _ : state) {
    level_zero::wrote(tensor, event);
    benchmark::DoNotOptimize(level_zero::wait_list(tensor, Access::kRead).data());
    zeEventHostSignal(event);
    tensor.memory()->wait_for(Access::kWrite, default_deadline());
    zeEventHostReset(event);
  }
  zeEventDestroy(event);
  zeEventPoolDestroy(pool);
}
BENCHMARK(WaitForEvent)->Name("WaitList/own_event/noted_fd_ownership_and_reached");

}  // namespace
