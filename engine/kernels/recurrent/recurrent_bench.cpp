// SPDX-License-Identifier: Apache-2.0
// Steps of a bidirectional LSTM beside reading its weights as often, which is the least that few rows can take.
#include <tenon/engine/kernels/recurrent/recurrent.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <tbb/task_arena.h>

#include <tenon/engine/kernels/simd/parallel.hpp>

namespace {

using namespace tenon;
using engine::kernels::Recurrent;

constexpr std::size_t kSteps = 100;

/// Threads of the second argument; 0 is one for each processor.
std::size_t threads_of(const benchmark::State& state) {
  return state.range(1) != 0 ? static_cast<std::size_t>(state.range(1)) : std::thread::hardware_concurrency();
}
Recurrent layer_of(ElementType weights, std::size_t rows, std::size_t hidden) {
  return {Recurrent::Kind::kLstm, false, weights, 2, rows, kSteps, hidden};
}
std::size_t weight_bytes(const Recurrent& what) { return what.directions * what.panels() * what.panel_bytes(); }
void count(benchmark::State& state, const Recurrent& what) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * weight_bytes(what) * kSteps));
}

void Steps(benchmark::State& state, ElementType weights, std::size_t rows) {
  const Recurrent what = layer_of(weights, rows, static_cast<std::size_t>(state.range(0)));
  const std::size_t states = rows * what.directions * what.hidden, threads = threads_of(state);
  const std::vector<float> sums(rows * kSteps * what.columns(), 0.1f), first(states, 0.1f), bias(what.columns());
  const std::vector<std::byte> packed(weight_bytes(what));
  std::vector<float> all(states * kSteps), last(states), cell(states);
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] {
    for (auto _ : state) {
      engine::kernels::run_recurrent(
          what,
          {sums.data(), first.data(), first.data(), packed.data(), bias.data(), all.data(), last.data(), cell.data()},
          threads);
      benchmark::ClobberMemory();
    }
  });
  count(state, what);
}

/// Each thread reads a number of each line of its part of the weights, once for each step.
void Reading(benchmark::State& state, ElementType weights) {
  const Recurrent what = layer_of(weights, 1, static_cast<std::size_t>(state.range(0)));
  const std::size_t threads = threads_of(state), half = weight_bytes(what) / 2;
  const std::vector<std::uint8_t> bytes(2 * half, 1);
  std::atomic<unsigned> total{0};
  const auto read = [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part)
      for (std::size_t direction = 0; direction < 2; ++direction)
        for (std::size_t step = 0; step < kSteps; ++step) {
          unsigned sum = 0;
          for (std::size_t i = half * part / threads; i < half * (part + 1) / threads; i += 64)
            sum += bytes[direction * half + i];
          total.fetch_add(sum, std::memory_order_relaxed);
        }
  };
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] {
    for (auto _ : state) engine::kernels::parallel_ranges(threads, 1, read, engine::kernels::Split::kByGrain);
  });
  benchmark::DoNotOptimize(total.load());
  count(state, what);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgsProduct({{64, 512}, {1, 2, 0}})->Unit(benchmark::kMicrosecond)->UseRealTime();
}
BENCHMARK_CAPTURE(Steps, f32_1_row, ElementType::kF32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(Steps, f32_8_rows, ElementType::kF32, 8)->Apply(shapes);
BENCHMARK_CAPTURE(Reading, f32, ElementType::kF32)->Apply(shapes);
BENCHMARK_CAPTURE(Steps, bf16_1_row, ElementType::kBf16, 1)->Apply(shapes);
BENCHMARK_CAPTURE(Steps, bf16_4_rows, ElementType::kBf16, 4)->Apply(shapes);
BENCHMARK_CAPTURE(Reading, bf16, ElementType::kBf16)->Apply(shapes);

}  // namespace
