// SPDX-License-Identifier: Apache-2.0
// One request: how an inference starts, is cancelled and ends, and the end of the request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/process_end.hpp>
#include <tenon/runtime/profiling_info.hpp>
#include <tenon/runtime/request/bindings.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/executor.hpp>
#include <tenon/runtime/request/model_state.hpp>
#include <tenon/runtime/request/phases.hpp>

namespace tenon {
inline namespace v1 {

/// @thread infer, start_async, wait, cancel and set_callback from any thread; the rest by one thread at a time, while
/// no inference runs (Busy otherwise).
class RequestState final : public Inference,
                           public Task,
                           public process_end::Work,
                           public std::enable_shared_from_this<RequestState> {
 public:
  explicit RequestState(std::shared_ptr<ModelState> model);
  ~RequestState() override = default;

  /// Creates the device's half, so that a failure to do so surfaces when the request is created.
  void prime() { devices_.active(); }
  ModelState& model() const noexcept { return *model_; }
  const std::shared_ptr<ModelState>& shared_model() const noexcept { return model_; }

  // As Bindings' functions of these names. @errors Busy
  void set(PortRef port, const Tensor& tensor) { free_bindings().set(port, tensor); }
  void set_batch(PortRef port, const std::vector<Tensor>& tensors) { free_bindings().set_batch(port, tensors); }
  void set_frame(std::size_t input, const Frame& frame) { free_bindings().set_frame(input, frame); }
  Tensor get(PortRef port) { return free_bindings().get(port); }

  /// @param within  The composite device's inference that this one is part of and is cancelled with, or null.
  void infer(const Inference* within = nullptr);
  void start_async(const Inference* within = nullptr);
  void wait() { wait_until(Deadline::max()); }
  bool wait_until(Deadline deadline);
  void cancel() noexcept override;
  void set_callback(RequestPhases::Callback callback) { phases_.set_callback(std::move(callback)); }
  std::vector<ProfilingInfo> profiling_info();
  std::vector<std::shared_ptr<VariableStateImpl>> query_state();
  Ledger& scope() noexcept { return ledger_; }
  /// @errors Busy
  void check_not_busy() const { phases_.check_not_busy(); }

  /// Called when the last handle is gone. Waits until the inference is over and the device no longer touches the
  /// request's memory, unless the request's own callback dropped the handle.
  void abandon() noexcept;

  // process_end::Work
  bool settle(Deadline deadline) noexcept override;
  // Inference
  Tensor output(std::size_t index, const Shape& shape) override { return bindings_.output(index, shape); }
  void finish(std::exception_ptr error) noexcept override;
  // Task
  void execute(int stream) noexcept override;

 private:
  Bindings& free_bindings() {
    check_not_busy();
    return bindings_;
  }
  /// The end of an inference that was started asynchronously, for other work that uses its tensors' memory before wait().
  class End final : public HostTimeline {
   public:
    explicit End(std::string name) : HostTimeline(std::move(name)) {}
    bool is_ordered_at_start() const override { return true; }
  };
  void begin(bool calls_back, const Inference* within);
  /// Notes the inference in the memories of its tensors. A part of a composite device's inference is not: the whole is.
  void note_start();
  /// Settles the point that note_start() noted, if it did.
  void note_end(const std::exception_ptr& error) noexcept;
  void prepare();
  void run_now(int stream);
  void start_on_device();
  /// Runs the inference in this thread if it still waits in the executor's queue and no worker will or should take it.
  void run_if_queued(Deadline deadline);
  /// Named in errors about exhausted resources.
  std::string subject() const;

  std::shared_ptr<ModelState> model_;
  Ledger ledger_;
  DeviceRequests devices_;
  Bindings bindings_;
  RequestPhases phases_;
  std::atomic<std::uint32_t> started_{0};  ///< The number of inferences that began, modulo 2^32.
  bool is_part_ = false;                   ///< Whether this is a part of a composite device's inference.
  Ref<End> end_;                           ///< Replaced after a failure, so that it holds one at most.
  TimelinePoint running_;                  ///< The point of end_; ready() if none was noted.
  std::atomic<bool> posted_{false};        ///< Believed to be in the executor's queue.
  std::shared_ptr<RequestState> self_;     ///< Keeps the state while a worker or device has it.
};

/// Shared by handles. Separate from the state, which a worker may hold a little longer.
class RequestHandle {
 public:
  explicit RequestHandle(std::shared_ptr<ModelState> model) : state(std::make_shared<RequestState>(std::move(model))) {}
  ~RequestHandle() {
    state->abandon();
    process_end::remove(*state);
  }
  RequestHandle(const RequestHandle&) = delete;
  RequestHandle& operator=(const RequestHandle&) = delete;

  const std::shared_ptr<RequestState> state;
};

/// @errors kInvalidArgument: an empty handle.
RequestState& state_of(const std::shared_ptr<RequestHandle>& handle);

}  // namespace v1
}  // namespace tenon
