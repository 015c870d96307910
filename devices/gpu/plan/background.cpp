// SPDX-License-Identifier: Apache-2.0
// The thread.
#include <tenon/devices/gpu/plan/background.hpp>

#include <utility>

#include <tenon/graph/wanted.hpp>

#include <tenon/core/new_thread.hpp>

namespace tenon::inline v1::gpu_device {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    // First, so that no work of a caller that gets an error is left.
    if (!thread_.joinable()) thread_ = new_thread("GPU: work beside inferences", [this] { run(); });
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Background::run() {
  const CancellationScope scope([this] {
    const std::lock_guard lock(mutex_);
    return !is_over_;
  });
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (is_over_) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (...) {  // What it was to make is not there.
    }
    work = nullptr;
    lock.lock();
  }
}

}  // namespace tenon::inline v1::gpu_device
