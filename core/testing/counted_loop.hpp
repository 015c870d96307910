// SPDX-License-Identifier: Apache-2.0
// A benchmark's loop that counts the allocations of its body in the steady state.
#pragma once

#include <algorithm>
#include <cstdint>

#include <benchmark/benchmark.h>

#include <tenon/core/testing/allocation_count.hpp>

namespace tenon_test {

/// Runs `body` once per iteration. The counter "allocations" is the mean number of allocations per iteration, the first
/// excluded. The benchmark library allocates a few times around the loop, which is negligible per iteration.
template <typename Body>
void counted(benchmark::State& state, Body body) {
  body();
  const std::size_t before = allocations_of_this_thread();
  for (auto _ : state) body();
  state.counters["allocations"] = static_cast<double>(allocations_of_this_thread() - before) /
                                  static_cast<double>(std::max<std::int64_t>(state.iterations(), 1));
}

}  // namespace tenon_test
