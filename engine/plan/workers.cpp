// SPDX-License-Identifier: Apache-2.0
// Bounded workers: one oneTBB arena, for oneDNN's loops and ours alike.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/processors.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::inline v1::engine {
namespace {

tbb::task_arena::priority priority_of(WorkerOptions::Priority priority) {
  switch (priority) {
    case WorkerOptions::Priority::kLow:
      return tbb::task_arena::priority::low;
    case WorkerOptions::Priority::kHigh:
      return tbb::task_arena::priority::high;
    default:
      return tbb::task_arena::priority::normal;
  }
}

/// While alive, the calling thread treats denormals as zero.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : before_(_mm_getcsr()) {
    constexpr unsigned kFlushResults = 0x8000, kFlushOperands = 0x0040;
    _mm_setcsr(before_ | kFlushResults | kFlushOperands);
  }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  [[maybe_unused]] unsigned before_ = 0;
};

/// Pins each thread to its CPU while it is in the arena, and restores its affinity afterwards: the threads are
/// oneTBB's and the caller's, not ours.
class Pinning final : public tbb::task_scheduler_observer {
 public:
  Pinning(tbb::task_arena& arena, std::vector<int> cpus)
      : tbb::task_scheduler_observer(arena), cpus_(std::move(cpus)), before_(cpus_.size()) {
    observe(true);
  }
  ~Pinning() override { observe(false); }

  void on_scheduler_entry(bool) override {
    const std::size_t slot = this_slot();
    if (slot >= cpus_.size()) return;
    before_[slot] = platform::processors_of_thread();
    platform::keep_thread_on(platform::ProcessorSet(cpus_[slot]));  // Where this is refused, it stays unpinned.
  }
  void on_scheduler_exit(bool) override {
    const std::size_t slot = this_slot();
    if (slot < cpus_.size() && before_[slot].count() > 0) platform::keep_thread_on(before_[slot]);
  }

 private:
  static std::size_t this_slot() { return static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()); }
  std::vector<int> cpus_;
  std::vector<platform::ProcessorSet> before_;  ///< By slot; each slot has one thread at a time.
};

/// oneTBB takes memory for its first structures under a lock that its own exceptions take too: without memory it would
/// never return. So there must be enough before it is asked.
void check_memory_for_scheduler() {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  const std::unique_ptr<char[]> memory(new (std::nothrow) char[kBytes]);
  // Read through a volatile pointer, so that no compiler leaves the allocation out.
  const char* const volatile address = memory.get();
  if (!address)
    throw Error(Code::kResourceExhausted,
                "CPU: no " + std::to_string(kBytes) +
                    " bytes of memory for its threads; raise the limit on memory or address space");
}

}  // namespace

struct Workers::Impl {
  Impl(int threads, const WorkerOptions& options)
      : flush_denormals(options.flush_denormals),
        // Slots reserved for threads that enter by themselves are not taken by workers.
        arena(threads, options.active > 0 && options.active < threads ? threads - options.active + 1 : 1,
              priority_of(options.priority)) {
    // Tasks of an arena run in the floating-point mode in which it was made.
    std::optional<FlushDenormals> mode;
    if (flush_denormals) mode.emplace();
    check_memory_for_scheduler();
    arena.initialize();
    if (!options.cpus.empty()) pinning.emplace(arena, options.cpus);
  }
  bool flush_denormals;
  tbb::task_arena arena;
  std::optional<Pinning> pinning;
};

Workers::Workers(int threads) : Workers(WorkerOptions{threads, 0, {}, WorkerOptions::Priority::kNormal, false}) {}
Workers::Workers(const WorkerOptions& options) : threads_(options.threads > 0 ? options.threads : available_cpus()) {
  impl_ = std::make_unique<Impl>(threads_, options);
}
Workers::~Workers() = default;

void Workers::run(const std::function<void()>& body) {
  std::optional<FlushDenormals> mode;
  if (impl_->flush_denormals) mode.emplace();
  impl_->arena.execute(body);
}

int Workers::available_cpus() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  if (const int allowed = platform::processors_of_thread().count()) count = allowed;
  // A container's quota: threads beyond it only preempt each other.
  std::ifstream quota("/sys/fs/cgroup/cpu.max");
  double limit = 0, period = 0;
  if (quota >> limit >> period && limit > 0 && period > 0)
    count = std::min(count, std::max(1, static_cast<int>(std::lround(limit / period))));
  return std::max(count, 1);
}

}  // namespace tenon::inline v1::engine
