// SPDX-License-Identifier: Apache-2.0
// Bounded workers: one oneTBB arena, for oneDNN's loops and ours alike.
#include <sched.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include <tbb/task_arena.h>

#include <tenon/devices/cpu/engine/engine.hpp>

namespace tenon::inline v1::engine {

struct Workers::Impl {
  explicit Impl(int threads) : arena(threads) { arena.initialize(); }
  tbb::task_arena arena;
};

Workers::Workers(int threads) : threads_(threads > 0 ? threads : available_cpus()) {
  impl_ = std::make_unique<Impl>(threads_);
}
Workers::~Workers() = default;

void Workers::run(const std::function<void()>& body) { impl_->arena.execute(body); }

int Workers::available_cpus() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
  // A container's quota: more threads than it grants only preempt each other.
  std::ifstream quota("/sys/fs/cgroup/cpu.max");
  double limit = 0, period = 0;
  if (quota >> limit >> period && limit > 0 && period > 0)
    count = std::min(count, std::max(1, static_cast<int>(limit / period + 0.5)));
  return std::max(count, 1);
}

}  // namespace tenon::inline v1::engine
