// SPDX-License-Identifier: Apache-2.0
// Work that no caller waits for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tenon::inline v1::gpu_device {

/// Does one piece of work after the other on a thread of its own, which begins with the first.
/// @thread all members from any thread.
class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// What was not begun is dropped; what was begun is cancelled (CancellationScope) and waited for.
  ~Background();
  /// @param work  What it throws ends it, and is told to no caller.
  void add(std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tenon::inline v1::gpu_device
