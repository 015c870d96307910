// SPDX-License-Identifier: Apache-2.0
// One request's life: start, run, callback, wait, cancel, end.
#include <tenon/runtime/request/request.hpp>

#include <tenon/runtime/internal/shortage.hpp>
#include <tenon/runtime/request/inference_trace.hpp>

#include <tenon/runtime/exception.hpp>

namespace tenon {
inline namespace v1 {

RequestState::RequestState(std::shared_ptr<ModelState> model)
    : Inference(ledger_),
      model_(std::move(model)),
      ledger_(&model_->shared().ledger),
      inputs_(model_->inputs().size()),
      outputs_(model_->outputs().size()) {}

void RequestState::check_not_busy() const {
  const Phase phase = phase_.load(std::memory_order_acquire);
  if (phase == Phase::kRunning || phase == Phase::kDeferred) throw Busy("Infer Request is busy");
}

void RequestState::begin(const Inference* within) {
  Phase phase = Phase::kIdle;
  if (!phase_.compare_exchange_strong(phase, Phase::kRunning)) {
    if (phase != Phase::kCallback || !phase_.compare_exchange_strong(phase, Phase::kRunning)) {
      throw Busy("Infer Request is busy");
    }
  }
  cancelled_.store(false, std::memory_order_relaxed);
  if (within) {
    // Either who cancels the whole sees this part run, or this part sees that the whole is cancelled: phase_ and
    // cancelled_ are written and read in one order that all threads see.
    if (within->cancelled()) cancelled_.store(true, std::memory_order_relaxed);
  }
  if (has_error_.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    error_ = nullptr;
    has_error_.store(false, std::memory_order_release);
  }
}

void RequestState::run_now(int stream) {
  stream_ = stream;
  throw_if_cancelled();
  telling_shortage([this] { return subject(); },
                   [this] {
                     prepare();
                     const InferenceTrace trace;
                     plan().impl->run(*this);
                     trace.finish(*plan().impl);
                     complete_outputs();
                   });
}

void RequestState::start_on_device() {
  telling_shortage([this] { return subject(); },
                   [this] {
                     stream_ = kCallerThread;
                     prepare();
                     plan().impl->start(*this);
                   });
}

std::string RequestState::subject() const { return "an inference on " + model_->device().name(); }

void RequestState::infer(const Inference* within) {
  begin(within);
  sync_.store(true, std::memory_order_relaxed);
  try {
    if (plan().impl->runs_in_caller()) {
      run_now(kCallerThread);
      over(nullptr);
      return;
    }
    self_ = shared_from_this();
    start_on_device();
  } catch (...) {
    self_.reset();
    over(nullptr);
    throw;
  }
  wait();
}

void RequestState::start_async(const Inference* within) {
  begin(within);
  sync_.store(false, std::memory_order_relaxed);
  // The inference may be over, and its callback may have dropped the last handle, before start() or post() returns
  // here.
  const std::shared_ptr<RequestState> keep = shared_from_this();
  try {
    self_ = keep;
    if (plan().impl->is_asynchronous()) {
      // Everything is enqueued when this returns: users put their own work on the same queue behind it.
      start_on_device();
    } else if (Executor& executor = model_->executor(plan().variant->impl->stream_count());
               executor.stream_count() > 0) {
      posted_.store(true, std::memory_order_release);
      telling_shortage([this] { return subject(); }, [&] { executor.post(*this); });
    } else {
      execute(kCallerThread);
    }
  } catch (...) {
    sync_.store(true, std::memory_order_relaxed);  // It never started: no callback.
    posted_.store(false, std::memory_order_relaxed);
    self_.reset();
    over(nullptr);
    throw;
  }
}

void RequestState::execute(int stream) noexcept {
  posted_.store(false, std::memory_order_relaxed);
  const std::shared_ptr<RequestState> keep = std::move(self_);
  std::exception_ptr error;
  try {
    run_now(stream);
  } catch (...) {
    error = std::current_exception();
  }
  over(std::move(error));
}

void RequestState::finish(std::exception_ptr error) noexcept {
  const std::shared_ptr<RequestState> keep = std::move(self_);
  if (!error) {
    try {
      complete_outputs();
    } catch (...) {
      error = std::current_exception();
    }
  }
  over(std::move(error));
}

void RequestState::settle_phase(Phase phase) noexcept {
  // Sequentially consistent with the waiter's increment: either it sees the phase or we see the waiter.
  phase_.store(phase);
  if (waiters_.load() != 0) {
    { std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }
}

void RequestState::over(std::exception_ptr error) noexcept {
  if (sync_.load(std::memory_order_relaxed) || !has_callback_.load(std::memory_order_acquire)) {
    std::unique_lock lock(mutex_, std::defer_lock);
    // Only an inference can make a callback active, and this one is the request's only: false stays false.
    if (error || callback_active_.load(std::memory_order_acquire)) lock.lock();
    if (error) {
      error_ = std::move(error);
      has_error_.store(true, std::memory_order_release);
    }
    const Phase next = callback_active_.load(std::memory_order_relaxed) ? Phase::kCallback : Phase::kIdle;
    if (!lock.owns_lock()) return settle_phase(next);
    phase_.store(next);
    lock.unlock();
    changed_.notify_all();
    return;
  }

  std::unique_lock lock(mutex_);
  error_ = std::move(error);
  has_error_.store(error_ != nullptr, std::memory_order_release);
  if (callback_active_.load(std::memory_order_relaxed)) {
    // Callbacks of one request never overlap: the thread that is in the earlier one will call this one too.
    phase_.store(Phase::kDeferred);
    lock.unlock();
    changed_.notify_all();
    return;
  }
  callback_active_.store(true, std::memory_order_release);
  callback_thread_.store(std::this_thread::get_id());
  do {
    std::shared_ptr<const Callback> callback = callback_;
    const std::exception_ptr outcome = error_;
    phase_.store(Phase::kCallback);
    lock.unlock();
    std::exception_ptr thrown;
    try {
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
  if (phase_.load() == Phase::kCallback) phase_.store(Phase::kIdle);
  lock.unlock();
  changed_.notify_all();
}

bool RequestState::in_own_callback() const noexcept {
  return callback_active_.load(std::memory_order_acquire) && callback_thread_.load() == std::this_thread::get_id();
}

bool RequestState::is_over(bool own_callback) const noexcept {
  const Phase phase = phase_.load();
  return own_callback ? phase != Phase::kRunning : phase == Phase::kIdle;
}

bool RequestState::wait_until(Deadline deadline) {
  const bool own_callback = in_own_callback();
  if (posted_.load(std::memory_order_acquire) && (own_callback || model_->executor().is_worker()) &&
      model_->executor().take(*this)) {
    // The worker that would run it may be the one that is in this callback, or in another request's.
    execute(kCallerThread);
  } else if (deadline == Deadline::max() && !own_callback && posted_.load(std::memory_order_acquire) &&
             !has_callback_.load(std::memory_order_acquire) && model_->executor().take_if_idle(*this)) {
    execute(kCallerThread);
  }
  if (!spin_until([&] { return is_over(own_callback); })) {
    waiters_.fetch_add(1);
    bool done = false;
    {
      std::unique_lock lock(mutex_);
      const auto over_now = [&] { return is_over(own_callback); };
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

void RequestState::wait() { wait_until(Deadline::max()); }

void RequestState::raise() {
  if (!has_error_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    error = error_;
  }
  if (error) std::rethrow_exception(error);
}

void RequestState::cancel() noexcept {
  if (phase_.load() != Phase::kRunning) return;
  cancelled_.store(true);  // Before the parts are asked for: see begin().
  if (InferRequestImpl* impl = active_.load(std::memory_order_acquire)) impl->cancel();
}

void RequestState::set_callback(Callback callback) {
  check_not_busy();
  auto kept = callback ? std::make_shared<const Callback>(std::move(callback)) : nullptr;
  std::shared_ptr<const Callback> old;  // Destroyed outside the lock: it may own handles.
  {
    std::lock_guard lock(mutex_);
    old = std::exchange(callback_, std::move(kept));
    has_callback_.store(callback_ != nullptr, std::memory_order_release);
  }
}

std::vector<ProfilingInfo> RequestState::profiling_info() {
  check_not_busy();
  return plan().impl->profiling_info();
}

std::vector<std::shared_ptr<VariableStateImpl>> RequestState::query_state() {
  check_not_busy();
  return plan().impl->query_state();
}

void RequestState::abandon() noexcept {
  std::shared_ptr<const Callback> old;
  {
    std::lock_guard lock(mutex_);
    old = std::move(callback_);
    has_callback_.store(false, std::memory_order_release);
  }
  const bool own_callback = in_own_callback();
  try {
    wait_until(Deadline::max());
  } catch (...) {  // The outcome is of no interest to anyone any more.
  }
  if (own_callback) return;
  // Released here, not on the worker that may hold the state for some instructions more: users count on their memory
  // being free again after the request is gone.
  active_.store(nullptr, std::memory_order_relaxed);
  plans_.clear();
  inputs_.clear();
  outputs_.clear();
}

}  // namespace v1
}  // namespace tenon
