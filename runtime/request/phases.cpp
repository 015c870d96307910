// SPDX-License-Identifier: Apache-2.0
// The phases of a request: when an inference may start, waiting for its end, and calling its callback.
#include <tenon/runtime/request/phases.hpp>

#include <utility>

#include <tenon/core/timeline.hpp>
#include <tenon/runtime/device/process_end.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/executor.hpp>

namespace tenon {
inline namespace v1 {

void RequestPhases::check_not_busy() const {
  const Phase phase = phase_.load(std::memory_order_acquire);
  if (phase == Phase::kRunning || phase == Phase::kDeferred) throw Busy("Infer Request is busy");
}

void RequestPhases::begin(bool calls_back) {
  Phase phase = phase_.load();
  do {  // A callback that returns meanwhile makes the one the other.
    if (phase != Phase::kIdle && phase != Phase::kCallback) throw Busy("Infer Request is busy");
  } while (!phase_.compare_exchange_weak(phase, Phase::kRunning));
  calls_back_.store(calls_back, std::memory_order_relaxed);
  if (has_error_.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    error_ = nullptr;
    has_error_.store(false, std::memory_order_release);
  }
}

void RequestPhases::enter(Phase phase) noexcept {
  // Sequentially consistent with the waiter's increment: either it sees the phase or we see the waiter.
  phase_.store(phase);
  if (waiters_.load() != 0) {
    { std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }
}

void RequestPhases::end_quietly(std::exception_ptr error) noexcept {
  std::unique_lock lock(mutex_, std::defer_lock);
  // Only an inference can make a callback active, and this is the request's only one: false stays false.
  if (error || callback_active_.load(std::memory_order_acquire)) lock.lock();
  if (error) {
    error_ = std::move(error);
    has_error_.store(true, std::memory_order_release);
  }
  const Phase next = callback_active_.load(std::memory_order_relaxed) ? Phase::kCallback : Phase::kIdle;
  if (!lock.owns_lock()) return enter(next);
  phase_.store(next);
  lock.unlock();
  changed_.notify_all();
}

void RequestPhases::end(std::exception_ptr error) noexcept {
  if (!calls_back_.load(std::memory_order_relaxed) || !has_callback()) return end_quietly(std::move(error));
  std::unique_lock lock(mutex_);
  error_ = std::move(error);
  has_error_.store(error_ != nullptr, std::memory_order_release);
  if (callback_active_.load(std::memory_order_relaxed)) {
    // Callbacks of one request never overlap: the thread in the earlier one will call this one too.
    phase_.store(Phase::kDeferred);
    lock.unlock();
    changed_.notify_all();
    return;
  }
  call_back(lock);
}

void RequestPhases::call_back(std::unique_lock<std::mutex>& lock) noexcept {
  callback_active_.store(true, std::memory_order_release);
  callback_thread_.store(std::this_thread::get_id());
  do {
    std::shared_ptr<const Callback> callback = callback_;
    const std::exception_ptr outcome = error_;
    phase_.store(Phase::kCallback);
    lock.unlock();
    std::exception_ptr thrown;
    try {
      const process_end::CallbackScope scope;
      if (callback) (*callback)(outcome);
    } catch (...) {
      thrown = std::current_exception();
    }
    callback.reset();
    lock.lock();
    if (thrown && phase_.load() == Phase::kCallback) {
      error_ = std::move(thrown);
      has_error_.store(true, std::memory_order_release);
    }
  } while (phase_.load() == Phase::kDeferred);
  callback_active_.store(false, std::memory_order_release);
  callback_thread_.store(std::thread::id{});
  Phase over = Phase::kCallback;
  phase_.compare_exchange_strong(over, Phase::kIdle);  // Unless the next inference has begun.
  lock.unlock();
  changed_.notify_all();
}

void RequestPhases::withdraw() noexcept { end_quietly(nullptr); }

bool RequestPhases::in_own_callback() const noexcept {
  return callback_active_.load(std::memory_order_acquire) && callback_thread_.load() == std::this_thread::get_id();
}

bool RequestPhases::is_over(bool own_callback) const noexcept {
  const Phase phase = phase_.load();
  return own_callback ? phase != Phase::kRunning : phase == Phase::kIdle;
}

bool RequestPhases::wait_until(Deadline deadline) {
  const auto over_now = [this, own_callback = in_own_callback()] { return is_over(own_callback); };
  if (!spin_until(over_now)) {
    waiters_.fetch_add(1);
    bool done = false;
    {
      std::unique_lock lock(mutex_);
      if (deadline == Deadline::max())
        changed_.wait(lock, over_now), done = true;
      else
        done = changed_.wait_until(lock, deadline, over_now);
    }
    waiters_.fetch_sub(1);
    if (!done) return false;
  }
  raise();
  return true;
}

void RequestPhases::raise() {
  if (!has_error_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    error = error_;
  }
  if (error) std::rethrow_exception(error);
}

void RequestPhases::set_callback(Callback callback) {
  check_not_busy();
  auto kept = callback ? std::make_shared<const Callback>(std::move(callback)) : nullptr;
  std::shared_ptr<const Callback> old;  // Destroyed outside the lock: it may own handles.
  {
    std::lock_guard lock(mutex_);
    old = std::exchange(callback_, std::move(kept));
    has_callback_.store(callback_ != nullptr, std::memory_order_release);
  }
}

std::shared_ptr<const RequestPhases::Callback> RequestPhases::take_callback() noexcept {
  std::lock_guard lock(mutex_);
  has_callback_.store(false, std::memory_order_release);
  return std::move(callback_);
}

}  // namespace v1
}  // namespace tenon
