// SPDX-License-Identifier: Apache-2.0
// The thread that performs deferred actions.
#include <tenon/core/deferred.hpp>
#include <tenon/core/immortal.hpp>
#include <tenon/core/platform/process.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace detail {

/// One per process. Its thread sleeps while no action is deferred.
class Reaper {
 public:
  /// Static objects may defer something after main(). Its thread ends with the process or the library.
  static Reaper& process() noexcept { return immortal<Reaper>(); }

  void add(Deferred& deferred) noexcept {
    std::lock_guard lock(mutex_);
    deferred.next_ = std::exchange(new_, &deferred);
    ++count_;
    if (!thread_.joinable() && !stopping_) {
      try {
        thread_ = std::thread([this] { run(); });
        // Registered now, not earlier: the driver whose work is waited for is loaded already, so it ends after this
        // thread does.
        platform::at_exit([] { process().stop(); });
      } catch (...) {  // The thread could not be started: the next call tries again.
      }
    }
    changed_.notify_all();
  }
  void look() noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    {
      std::lock_guard lock(mutex_);
      look_now_ = true;
    }
    changed_.notify_all();
  }
  bool drain(Deadline deadline) noexcept {
    std::unique_lock lock(mutex_);
    return emptied_.wait_until(lock, deadline, [this] { return count_ == 0; });
  }

 private:
  void stop() noexcept {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void run() {
    using std::chrono::microseconds;
    constexpr microseconds kShortest{20}, kLongest{2000};
    Deferred* waiting = nullptr;  // This thread's own list.
    microseconds pause = kShortest;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (new_) {
        pause = kShortest;
        Deferred* last = new_;
        while (last->next_) last = last->next_;
        last->next_ = std::exchange(waiting, std::exchange(new_, nullptr));
      }
      if (!waiting) {
        changed_.wait(lock);
        continue;
      }
      look_now_ = false;
      lock.unlock();
      const std::size_t done = finish_ready(waiting);
      lock.lock();
      count_ -= done;
      if (count_ == 0) emptied_.notify_all();
      if (done != 0) pause = kShortest;
      if (!waiting || new_) continue;
      changed_.wait_for(lock, pause, [this] { return stopping_ || look_now_ || new_; });
      pause = std::min(kLongest, pause + pause / 4);
    }
  }

  /// @return how many left the list.
  static std::size_t finish_ready(Deferred*& list) {
    std::size_t done = 0;
    for (Deferred** at = &list; *at;) {
      Deferred* deferred = *at;
      if (!deferred->is_ready()) {
        at = &deferred->next_;
        continue;
      }
      *at = deferred->next_;  // First: finish() may destroy it.
      deferred->finish();
      ++done;
    }
    return done;
  }

  std::mutex mutex_;
  std::condition_variable changed_, emptied_;
  Deferred* new_ = nullptr;
  std::atomic<std::size_t> count_{0};  ///< In both lists.
  bool look_now_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace detail

TENON_INLINE void defer(Deferred& deferred) noexcept { detail::Reaper::process().add(deferred); }
TENON_INLINE void look_at_deferred() noexcept { detail::Reaper::process().look(); }
TENON_INLINE bool drain_deferred(Deadline deadline) noexcept { return detail::Reaper::process().drain(deadline); }

}  // namespace v1
}  // namespace tenon
