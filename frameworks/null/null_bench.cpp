// SPDX-License-Identifier: Apache-2.0
// Cost of a repeated map beside a bare header over the same bytes; shows that it allocates nothing.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/core/testing/counted_loop.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/null/null.hpp>

namespace {

using namespace tenon;
using tenon_test::counted;

const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

/// A header like cv::Mat's: its own flags, extents and strides, and a pointer into memory with a shared count.
struct BareHeader {
  int flags = 0, dims = 0;
  std::size_t rows = 0, columns = 0;
  unsigned char *data = nullptr, *start = nullptr, *end = nullptr, *limit = nullptr;
  std::atomic<int>* count = nullptr;
  std::size_t extents[6] = {}, steps[6] = {};

  BareHeader(const TensorInfo& info, void* bytes, std::size_t size, std::atomic<int>* shared)
      : dims(static_cast<int>(info.shape.size())), count(shared) {
    for (int i = 0; i < dims; ++i) {
      extents[i] = info.shape[static_cast<std::size_t>(i)];
      steps[i] = static_cast<std::size_t>(info.strides[static_cast<std::size_t>(i)]);
    }
    rows = extents[0], columns = extents[1];
    data = start = static_cast<unsigned char*>(bytes);
    end = limit = data + size;
    count->fetch_add(1, std::memory_order_acq_rel);
  }
  ~BareHeader() { count->fetch_sub(1, std::memory_order_acq_rel); }
};

void MapFloor(benchmark::State& state) {
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor({element::u8, {224, 224, 3}, {}});
  std::atomic<int> count{1};
  counted(state, [&] {
    BareHeader header(source.info(), source.data(), source.size_bytes(), &count);
    benchmark::DoNotOptimize(header);
  });
}
BENCHMARK(MapFloor)->Name("Map/floor/bare_header");

void MapRepeat(benchmark::State& state) {
  Router router;
  router.add(null::context());
  cpu::Pool pool(3 * 224 * 224, 1);
  const Tensor source = pool.acquire_tensor({element::u8, {224, 224, 3}, {}});
  counted(state, [&] {
    Tensor mapped = router.map(source, null::context());
    benchmark::DoNotOptimize(mapped);
  });
}
BENCHMARK(MapRepeat)->Name("Map/cpu->null.block/224x224_rgb_repeat");

void MapCycle(benchmark::State& state) {
  // The full cycle of the steady state: out of the pool, mapped, back into the pool.
  Router router;
  router.add(null::context());
  cpu::Pool pool(3 * 224 * 224, 1);
  const TensorInfo info{element::u8, {224, 224, 3}, {}};
  counted(state, [&] {
    Tensor mapped = router.map(pool.acquire_tensor(info), null::context());
    benchmark::DoNotOptimize(mapped);
  });
}
BENCHMARK(MapCycle)->Name("Map/pool->null.block->pool/224x224_rgb");

void MapFrameRepeat(benchmark::State& state) {
  Router router;
  router.add(null::context());
  Requirements wanted;
  wanted.pitch_alignment = 64;
  cpu::FramePool pool({kNv12, 1920, 1080}, wanted, 1);
  const Frame frame = pool.acquire();
  counted(state, [&] {
    Frame mapped = router.map(frame, null::context());
    benchmark::DoNotOptimize(mapped);
  });
}
BENCHMARK(MapFrameRepeat)->Name("Map/cpu->null.block/1080p_nv12_repeat");

void MapFrameFloor(benchmark::State& state) {
  cpu::FramePool pool({kNv12, 1920, 1080}, {}, 1);
  const Frame frame = pool.acquire();
  std::atomic<int> count{1};
  counted(state, [&] {
    BareHeader luma(frame.plane(0).info(), frame.plane(0).data(), frame.plane(0).size_bytes(), &count);
    BareHeader chroma(frame.plane(1).info(), frame.plane(1).data(), frame.plane(1).size_bytes(), &count);
    benchmark::DoNotOptimize(luma);
    benchmark::DoNotOptimize(chroma);
  });
}
BENCHMARK(MapFrameFloor)->Name("Map/floor/two_bare_headers");

void MapCold(benchmark::State& state) {
  Router router;
  router.add(null::context());
  alignas(64) static std::byte bytes[4096];
  counted(state, [&] {
    Tensor mapped = router.map(Tensor(element::u8, {4096}, bytes), null::context());
    benchmark::DoNotOptimize(mapped);
  });
}
BENCHMARK(MapCold)->Name("Map/cpu->null.block/4096_first");

}  // namespace
