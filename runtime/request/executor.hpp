// SPDX-License-Identifier: Apache-2.0
// Worker threads that run requests of one compiled model: the asynchronous half of synchronous devices.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Work that waits in an Executor. Intrusive, so that posting allocates nothing.
class Task {
 public:
  /// Runs on the worker of `stream`. The task may be gone when this returns, and may be posted again from within.
  virtual void execute(int stream) noexcept = 0;
  virtual ~Task() = default;

 private:
  friend class Executor;
  Task* next_ = nullptr;
};

/// First come, first served. Threads start with the first post(): a model that is only used synchronously has none.
/// @thread post() from any thread. The destructor must not overlap with post().
class Executor {
 public:
  explicit Executor(std::size_t streams);
  /// Precondition: no task is queued. Joins the workers; the one that runs the destructor itself, if any, ends on its
  /// own.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// `task` stays alive until execute() was entered. @errors kResourceExhausted when no worker can be started.
  void post(Task& task);
  /// Takes `task` out of the queue again, if no worker has it yet; it is then the caller's to execute. @return whether
  /// it was there.
  bool take(Task& task);
  /// As take(), but only when nothing else is queued or running: a waiting thread may then do the work itself without
  /// adding to the number of inferences that run at once, and saves the hand-off.
  bool take_if_idle(Task& task);
  /// From now on this many workers, if they are more than before: they start with the next post().
  void grow(std::size_t streams) noexcept {
    std::size_t now = streams_.load(std::memory_order_relaxed);
    while (now < streams && !streams_.compare_exchange_weak(now, streams, std::memory_order_relaxed)) {
    }
  }
  std::size_t stream_count() const noexcept { return streams_.load(std::memory_order_relaxed); }
  /// True on one of its own workers.
  bool is_worker() const noexcept;

 private:
  // Held by the workers too: a worker may outlive the Executor by the few instructions that end it.
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    Task* head = nullptr;
    Task* tail = nullptr;
    int sleepers = 0;
    // Read without the lock by spinning workers.
    std::atomic<int> length{0};
    std::atomic<int> running{0};
    std::atomic<bool> stop{false};
  };
  static void work(const std::shared_ptr<Queue>& queue, int stream) noexcept;
  void start_workers();

  std::atomic<std::size_t> streams_;
  std::shared_ptr<Queue> queue_;
  std::atomic<std::size_t> started_{0};  ///< Workers that were asked for.
  std::mutex start_mutex_;
  std::vector<std::thread> workers_;
};

inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Busy-waits until `done()` or about 20 us have passed; true when done. Longer than a hand-off between two running
/// threads, shorter than going to sleep and being woken costs.
template <typename Done>
bool spin_until(Done done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause_cpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace v1
}  // namespace tenon
