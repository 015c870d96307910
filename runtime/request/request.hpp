// SPDX-License-Identifier: Apache-2.0
// The state machine of one request: tensors by port, one inference at a time, callback, cancellation, end of life.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/request/executor.hpp>
#include <tenon/runtime/request/model_state.hpp>
#include <tenon/runtime/request/slot_lease.hpp>

namespace tenon {
inline namespace v1 {

/// The tensor with the port's type, which devices rely on: boolean and u8 have the same bytes.
Tensor as_type(const Tensor& tensor, ElementType type);

/// @thread infer, start_async, wait, cancel and set_callback from any thread; the rest by one thread at a time, while
/// no inference runs (Busy otherwise).
class RequestState final : public Inference, public Task, public std::enable_shared_from_this<RequestState> {
 public:
  using Callback = std::function<void(std::exception_ptr)>;

  explicit RequestState(std::shared_ptr<ModelState> model);
  ~RequestState() override = default;

  /// Creates the device's half, so that a failure to do so surfaces when the request is created.
  void prime() { plan(); }
  ModelState& model() const noexcept { return *model_; }
  const std::shared_ptr<ModelState>& shared_model() const noexcept { return model_; }

  void set(PortRef port, const Tensor& tensor);
  void set_batch(PortRef port, const std::vector<Tensor>& tensors);
  Tensor get(PortRef port);
  void set_frame(std::size_t input, const Frame& frame);

  /// @param within  The composite device's inference that this one is part of and is cancelled with, or null.
  void infer(const Inference* within = nullptr);
  void start_async(const Inference* within = nullptr);
  void wait();
  bool wait_until(Deadline deadline);
  void cancel() noexcept;
  void set_callback(Callback callback);
  std::vector<ProfilingInfo> profiling_info();
  std::vector<std::shared_ptr<VariableStateImpl>> query_state();
  Ledger& scope() noexcept { return ledger_; }
  /// @errors Busy
  void check_not_busy() const;

  /// Called when the last handle is gone. Waits until the inference is over and the device no longer touches the
  /// request's memory, unless the request's own callback dropped the handle.
  void abandon() noexcept;

  // Inference
  Tensor output(std::size_t index, const Shape& shape) override;
  void finish(std::exception_ptr error) noexcept override;
  // Task
  void execute(int stream) noexcept override;

 private:
  enum class Phase : int {
    kIdle,
    kRunning,
    kCallback,  ///< The inference is over and its callback runs: may be started again, wait() still waits.
    kDeferred,  ///< Over as well, but its callback waits for an earlier callback to return; otherwise as kRunning.
  };
  /// How the user's tensor relates to the device's.
  enum class Way : unsigned char {
    kNone,     ///< Nothing bound yet.
    kInPlace,  ///< The same memory.
    kPacked,   ///< Copied to or from `staging` at every inference.
    kRouted,   ///< Mapped by the router at every inference, because the route copies.
    kFrame,    ///< Planes, in place.
  };
  struct Slot {
    Tensor tensor;
    Tensor staging;
    std::array<Tensor, 4> planes;
    std::size_t plane_bytes = 0;
    std::vector<Tensor> batch;    ///< One tensor per item, or none.
    bool batch_in_place = false;  ///< The items are adjacent in one memory: nothing to copy.
    Ref<SlotLease> lease;         ///< Created when get() first returns the tensor.
    Way way = Way::kNone;
    bool from_user = false;
  };
  struct DevicePlan {
    std::shared_ptr<const InputVariant> variant;
    std::unique_ptr<InferRequestImpl> impl;
  };

  /// @param shape  The tensor's, or the whole port's if `tensor` is an item of its batch.
  void check(const PortInfo& port, const Tensor& tensor, const Shape& shape, bool is_input) const;
  Slot& slot(PortRef port) { return port.is_input ? inputs_[port.index] : outputs_[port.index]; }
  const PortInfo& info(PortRef port) const {
    return port.is_input ? model_->inputs()[port.index] : model_->outputs()[port.index];
  }
  /// Chooses the way and binds. If it throws, nothing has changed.
  void settle(PortRef port, Slot& slot, const Tensor& tensor, bool from_user);
  void bind(PortRef port, const Tensor& tensor);
  void allocate(PortRef port);
  DevicePlan& plan();
  void use_variant(const InputVariant::Key& key);
  /// As use_variant(), without the input's old tensor, which does not fit; it stays if the plan can't be built.
  void use_variant_for(Slot& slot, const InputVariant::Key& key);
  /// The frame formats that inputs take now; all empty without frames.
  InputVariant::Key key_now();
  bool takes_frames(std::size_t input) {
    return !plan().variant->key.empty() && plan().variant->key[input].has_value();
  }
  void use_tensor(std::size_t input);
  /// The slot's tensor for the user, under a lease that reports set_shape() where that can matter.
  Tensor lend(PortRef port, Slot& slot);
  /// Adopts the shapes that set_shape() gave to lent tensors.
  void follow_shapes();

  void begin(const Inference* within);
  void prepare();
  void prepare_input(std::size_t index, bool host_waits);
  void copy_batch(Slot& slot);
  void complete_outputs();
  void run_now(int stream);
  void start_on_device();
  /// Named in errors about exhausted resources.
  std::string subject() const;
  void over(std::exception_ptr error) noexcept;
  void settle_phase(Phase phase) noexcept;
  bool is_over(bool own_callback) const noexcept;
  bool in_own_callback() const noexcept;
  void raise();

  std::shared_ptr<ModelState> model_;
  Ledger ledger_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<DevicePlan> plans_;
  std::size_t active_plan_ = 0;
  /// The active plan's, so that cancel() on another thread needs no plans_, which may grow. Plans live as handles do.
  std::atomic<InferRequestImpl*> active_{nullptr};
  /// Some slot needs work at every inference, or at the next one.
  bool needs_prepare_ = true;
  bool needs_complete_ = false;
  /// Some lease has a tensor of a new shape.
  std::shared_ptr<std::atomic<bool>> reshaped_ = std::make_shared<std::atomic<bool>>(false);

  std::atomic<Phase> phase_{Phase::kIdle};
  std::atomic<int> waiters_{0};
  std::atomic<bool> has_error_{false};
  std::atomic<bool> has_callback_{false};
  std::atomic<bool> posted_{false};  ///< Believed to be in the executor's queue.
  std::atomic<bool> sync_{false};    ///< The inference in flight is infer()'s: no callback.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  std::shared_ptr<const Callback> callback_;
  std::atomic<bool> callback_active_{false};
  std::atomic<std::thread::id> callback_thread_{};
  std::shared_ptr<RequestState> self_;  ///< Keeps the state while a worker or device has it.
};

/// Shared by handles. Separate from the state, which a worker may hold a little longer.
class RequestHandle {
 public:
  explicit RequestHandle(std::shared_ptr<ModelState> model) : state(std::make_shared<RequestState>(std::move(model))) {}
  ~RequestHandle() { state->abandon(); }
  RequestHandle(const RequestHandle&) = delete;
  RequestHandle& operator=(const RequestHandle&) = delete;

  const std::shared_ptr<RequestState> state;
};

/// @errors kInvalidArgument: an empty handle.
RequestState& state_of(const std::shared_ptr<RequestHandle>& handle);

}  // namespace v1
}  // namespace tenon
