// SPDX-License-Identifier: Apache-2.0
// An alarm clock with a thread of its own, for elements whose work goes on without a buffer.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/core/new_thread.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// Calls back once at the time that was set last. @thread any.
class Alarm {
 public:
  explicit Alarm(std::function<void()> ring) : ring_(std::move(ring)) {}
  ~Alarm() { stop(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  /// Sets the time; nothing: switches the alarm off. The thread starts when a time is first set.
  void set(std::optional<Deadline> time) {
    const std::lock_guard lock(mutex_);
    time_ = time;
    if (time && !thread_.joinable() && !is_stopping_) thread_ = new_thread("tenon element", [this] { run(); });
    changed_.notify_one();
  }
  /// @pre the caller holds nothing that ring() waits for.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      if (!time_) {
        changed_.wait(lock);
      } else if (Clock::now() < *time_) {
        changed_.wait_until(lock, Deadline(*time_));
      } else {
        time_.reset();
        lock.unlock();
        ring_();
        lock.lock();
      }
    }
  }

  const std::function<void()> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Deadline> time_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
