// SPDX-License-Identifier: Apache-2.0
// One request's life: start, run, wait, cancel, end.
#include <tenon/runtime/request/request.hpp>

#include <chrono>
#include <optional>
#include <thread>

#include <tenon/core/hazards.hpp>

#include <tenon/runtime/internal/out_of_memory.hpp>
#include <tenon/runtime/request/inference_trace.hpp>

namespace tenon {
inline namespace v1 {

namespace {

/// Ends what Bindings::prepare() began, however the inference ends.
class AccessEnd {
 public:
  explicit AccessEnd(Bindings& bindings) : bindings_(bindings) {}
  AccessEnd(const AccessEnd&) = delete;
  AccessEnd& operator=(const AccessEnd&) = delete;
  ~AccessEnd() { bindings_.end_access(); }

 private:
  Bindings& bindings_;
};

}  // namespace

RequestState::RequestState(std::shared_ptr<ModelState> model)
    : Inference(ledger_, model->policy()),
      model_(std::move(model)),
      ledger_(&model_->shared().ledger),
      devices_(*model_),
      bindings_(model_, devices_, ledger_) {}

void RequestState::begin(bool calls_back, const Inference* within) {
  phases_.begin(calls_back);
  started_.fetch_add(1, std::memory_order_relaxed);
  if (process_end::has_begun()) {  // Either this sees the end, or the end sees this inference and waits for it.
    phases_.withdraw();
    throw Error(Code::kUnavailable,
                subject() +
                    " cannot start: the process ends, and the device's own static objects may be gone; "
                    "infer before main returns");
  }
  cancelled_.store(false, std::memory_order_relaxed);
  is_part_ = within != nullptr;
  if (within) {
    // Either the thread that cancels the whole sees this part run, or this part sees the cancellation: the phase and
    // cancelled_ are accessed in a total order that all threads see.
    if (within->cancelled()) cancelled_.store(true, std::memory_order_relaxed);
  }
}

void RequestState::note_start() {
  if (!end_) end_ = make_ref<End>(subject());
  const TimelinePoint end = end_->next();
  running_ = end;
  bindings_.note(end);
}

void RequestState::note_end(const std::exception_ptr& error) noexcept {
  const TimelinePoint end = std::exchange(running_, {});
  if (!end.timeline()) return;
  if (!error) return end_->advance(end.value());
  const Ref<End> failed = std::exchange(end_, nullptr);
  failed->fail(end.value(), error);
}

void RequestState::prepare() {
  std::optional<OrderedWork> part;  // The whole has waited already, and is itself noted in the memories.
  if (is_part_) part.emplace();
  bindings_.prepare();
}

void RequestState::run_now(int stream) {
  stream_ = stream;
  throw_if_cancelled();
  report_out_of_memory([this] { return subject(); },
                       [this] {
                         const AccessEnd end(bindings_);
                         prepare();
                         const OrderedWork ordered;
                         const InferenceTrace trace;
                         InferRequestImpl& device = *devices_.active().impl;
                         device.run(*this);
                         trace.finish(device);
                         model_->note_inference();
                         bindings_.complete();
                         if (!running_.timeline()) bindings_.wrote_outputs();
                       });
}

void RequestState::start_on_device() {
  report_out_of_memory([this] { return subject(); },
                       [this] {
                         stream_ = kCallerThread;
                         try {
                           prepare();
                           const OrderedWork ordered;
                           devices_.active().impl->start(*this);
                         } catch (...) {
                           bindings_.end_access();  // Otherwise finish() does that.
                           throw;
                         }
                       });
}

std::string RequestState::subject() const { return "an inference on " + model_->device().name(); }

void RequestState::infer(const Inference* within) {
  begin(false, within);
  try {
    if (devices_.active().impl->runs_in_caller()) {
      run_now(kCallerThread);
      phases_.end(nullptr);
      return;
    }
    self_ = shared_from_this();
    start_on_device();
  } catch (...) {
    self_.reset();
    phases_.withdraw();
    throw;
  }
  wait();
}

void RequestState::start_async(const Inference* within) {
  begin(true, within);
  // The inference may be over, and its callback may have dropped the last handle, before start() or post() returns
  // here.
  const std::shared_ptr<RequestState> keep = shared_from_this();
  try {
    self_ = keep;
    DeviceRequest& device = devices_.active();
    if (!within) note_start();
    if (device.impl->is_asynchronous()) {
      // Everything is enqueued when this returns: users put their own work on the same queue after it.
      start_on_device();
    } else if (Executor& executor = model_->executor(device.compiled().stream_count()); executor.stream_count() > 0) {
      posted_.store(true, std::memory_order_release);
      report_out_of_memory([this] { return subject(); }, [&] { executor.post(*this); });
    } else {
      execute(kCallerThread);
    }
  } catch (...) {
    posted_.store(false, std::memory_order_relaxed);
    self_.reset();
    note_end(std::current_exception());
    phases_.withdraw();
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
  note_end(error);
  phases_.end(std::move(error));
}

void RequestState::finish(std::exception_ptr error) noexcept {
  const std::shared_ptr<RequestState> keep = std::move(self_);
  if (!error) {
    try {
      model_->note_inference();
      bindings_.complete();
      if (!running_.timeline()) bindings_.wrote_outputs();
    } catch (...) {
      error = std::current_exception();
    }
  }
  bindings_.end_access();
  note_end(error);
  phases_.end(std::move(error));
}

void RequestState::run_if_queued(Deadline deadline) {
  if (!posted_.load(std::memory_order_acquire)) return;
  const bool own_callback = phases_.in_own_callback();
  Executor& executor = model_->executor();
  // The worker that would run it may be the one in this callback, or in another request's.
  const bool mine = own_callback || executor.is_worker();
  if (mine && executor.take(*this)) return execute(kCallerThread);
  if (deadline == Deadline::max() && !own_callback && !phases_.has_callback() && executor.take_if_idle(*this))
    execute(kCallerThread);
}

bool RequestState::wait_until(Deadline deadline) {
  run_if_queued(deadline);
  // A callback is called on the device's thread.
  if (deadline == Deadline::max() && phases_.is_running() && !phases_.has_callback()) devices_.end_in_caller();
  return phases_.wait_until(deadline);
}

void RequestState::cancel() noexcept {
  if (!phases_.is_running()) return;
  cancelled_.store(true);  // This comes before asking the parts: see begin().
  devices_.cancel();
}

std::vector<ProfilingInfo> RequestState::profiling_info() {
  check_not_busy();
  return devices_.active().impl->profiling_info();
}

std::vector<std::shared_ptr<VariableStateImpl>> RequestState::query_state() {
  check_not_busy();
  return devices_.active().impl->query_state();
}

bool RequestState::settle(Deadline deadline) noexcept {
  const std::uint32_t started = started_.load(std::memory_order_relaxed);
  try {
    if (phases_.is_running()) run_if_queued(deadline);  // This may be the very thread that would run it.
  } catch (...) {
  }
  const auto runs = [&] { return phases_.is_running() && started_.load(std::memory_order_relaxed) == started; };
  while (runs() && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !runs();
}

void RequestState::abandon() noexcept {
  const auto callback = phases_.take_callback();  // Destroyed last: it may own handles.
  const bool own_callback = phases_.in_own_callback();
  try {
    wait();
  } catch (...) {  // The outcome does not matter any more.
  }
  if (own_callback) return;
  // Released here, not on the worker that may hold the state for some instructions longer: users rely on their memory
  // being free again after the request is gone.
  devices_.clear();
  bindings_.clear();
}

}  // namespace v1
}  // namespace tenon
