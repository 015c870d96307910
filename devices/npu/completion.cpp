// SPDX-License-Identifier: Apache-2.0
// Threads that wait for inferences.
#include <tenon/devices/npu/completion.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenon::inline v1::npu_device {
namespace {

/// How long an inference may wait for its caller while a thread looks, at least, and twice that at most.
constexpr std::chrono::microseconds kLook{100};

}  // namespace

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
    if (is_looking_) return;
  }
  changed_.notify_one();
}

bool Completion::end_here(Pending& pending) noexcept {
  {
    const std::lock_guard lock(mutex_);
    Pending* before = nullptr;
    Pending* each = first_;
    for (; each && each != &pending; each = each->next_) before = each;
    if (!each) return false;
    (before ? before->next_ : first_) = each->next_;
    if (last_ == each) last_ = before;
    --promised_;
    idle_looks_ = 0;
  }
  pending.wait();
  report(pending);
  return true;
}

void Completion::cancel_reserve() noexcept {
  const std::lock_guard lock(mutex_);
  --promised_;
}

bool Completion::may_look() const noexcept { return !stop_ && !is_looking_ && idle_looks_ < kIdleLooks; }

bool Completion::look(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t added = added_;
  is_looking_ = true;
  changed_.wait_for(lock, kLook, [this] { return stop_; });
  is_looking_ = false;
  ++idle_looks_;
  return first_ && first_->turn_ < added;
}

void Completion::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (may_look()) {
      if (!look(lock)) continue;
    } else {
      changed_.wait(lock, [this] { return may_look() || (first_ && !is_looking_) || stop_; });
      if (may_look()) continue;  // Its caller ended what this thread was woken for, and may end the next one.
    }
    if (!first_) return;
    Pending* pending = first_;
    first_ = pending->next_;
    if (!first_) last_ = nullptr;
    if (first_) changed_.notify_one();  // It may not have been woken for that one.
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
