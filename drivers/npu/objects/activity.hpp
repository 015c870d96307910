// SPDX-License-Identifier: Apache-2.0
// What a device has done, for system management and metrics. Nothing is counted until one of them is used.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <tenon/drivers/npu/objects/wait.hpp>

namespace tenon::npu {

/// Monotonic counters; their differences are what clients read.
struct Counters {
  std::uint64_t moved_bytes = 0;  ///< By copies, fills and the arguments of graphs.
  std::uint64_t commands = 0;
  std::uint64_t graphs = 0;  ///< Executions of graphs; they are commands too.
};

/// @thread all members from any thread.
class Activity {
 public:
  /// Counts from now on.
  void watch() noexcept { is_watched_.store(true, std::memory_order_relaxed); }
  bool is_watched() const noexcept { return is_watched_.load(std::memory_order_relaxed); }

  /// A piece of work, counted if the device was watched when it began.
  class Work {
   public:
    explicit Work(Activity& activity) noexcept : activity_(activity.is_watched() ? &activity : nullptr) {
      if (activity_) activity_->begin();
    }
    ~Work() {
      if (activity_) activity_->end();
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Activity* const activity_;
  };

  void add_command(std::uint64_t moved_bytes, bool is_graph) noexcept {
    moved_bytes_.fetch_add(moved_bytes, std::memory_order_relaxed);
    commands_.fetch_add(1, std::memory_order_relaxed);
    if (is_graph) graphs_.fetch_add(1, std::memory_order_relaxed);
  }
  Counters counters() const noexcept {
    return {moved_bytes_.load(std::memory_order_relaxed), commands_.load(std::memory_order_relaxed),
            graphs_.load(std::memory_order_relaxed)};
  }
  /// Time during which at least one piece of work ran, up to now.
  std::uint64_t active_ns() const noexcept {
    const std::lock_guard lock(mutex_);
    return active_ns_ + (running_ != 0 ? now_ns() - begin_ns_ : 0);
  }
  bool is_active() const noexcept {
    const std::lock_guard lock(mutex_);
    return running_ != 0;
  }

 private:
  void begin() noexcept {
    const std::lock_guard lock(mutex_);
    if (running_++ == 0) begin_ns_ = now_ns();
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) active_ns_ += now_ns() - begin_ns_;
  }

  std::atomic<bool> is_watched_{false};
  std::atomic<std::uint64_t> moved_bytes_{0}, commands_{0}, graphs_{0};
  mutable std::mutex mutex_;
  std::uint32_t running_ = 0;
  std::uint64_t begin_ns_ = 0, active_ns_ = 0;
};

}  // namespace tenon::npu
