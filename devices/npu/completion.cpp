// SPDX-License-Identifier: Apache-2.0
// Threads that wait for inferences.
#include <tenon/devices/npu/completion.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenon::inline v1::npu_device {

void Completion::reserve() {
  const std::lock_guard lock(mutex_);
  if (promised_ >= free_threads_) {
    threads_.reserve(threads_.size() + 1);
    // The thread keeps this alive: its own callback may release the model.
    threads_.emplace_back([self = shared_from_this()] { self->serve(); });
    ++free_threads_;
  }
  ++promised_;
}

void Completion::add(Pending& pending) noexcept {
  {
    const std::lock_guard lock(mutex_);
    pending.next_ = nullptr;
    pending.turn_ = added_++;
    (last_ ? last_->next_ : first_) = &pending;
    last_ = &pending;
  }
  changed_.notify_one();
}

void Completion::cancel_reserve() noexcept {
  const std::lock_guard lock(mutex_);
  --promised_;
}

void Completion::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return first_ || stop_; });
    if (!first_) return;
    Pending* pending = first_;
    first_ = pending->next_;
    if (!first_) last_ = nullptr;
    --free_threads_;
    --promised_;
    lock.unlock();
    pending->wait();
    report(*pending);
    lock.lock();
    ++free_threads_;
  }
}

void Completion::report(Pending& pending) {
  if (!in_order_) return pending.report();
  constexpr std::chrono::seconds kLongestCallback{1};
  const std::uint64_t turn = pending.turn_;
  {
    std::unique_lock lock(mutex_);
    // Each inference that is reported begins the second anew for those behind it.
    for (std::uint64_t seen = next_turn_; next_turn_ < turn; seen = next_turn_)
      if (reported_.wait_for(lock, kLongestCallback) == std::cv_status::timeout && next_turn_ == seen) break;
  }
  pending.report();
  {
    const std::lock_guard lock(mutex_);
    next_turn_ = std::max(next_turn_, turn + 1);
  }
  reported_.notify_all();
}

void Completion::stop() noexcept {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    threads = std::move(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
}

}  // namespace tenon::inline v1::npu_device
