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

/// boolean and u8 are the same bytes; the device is promised the port's type.
Tensor as_type(const Tensor& tensor, ElementType type);

/// @thread infer, start_async, wait, cancel and set_callback from any thread; the rest by one thread at a time, while
/// no inference runs (Busy otherwise).
class RequestState final : public Inference, public Task, public std::enable_shared_from_this<RequestState> {
 public:
  using Callback = std::function<void(std::exception_ptr)>;

  explicit RequestState(std::shared_ptr<ModelState> model);
  ~RequestState() override = default;

  /// Makes the device's half, so that its failure shows when the request is made.
  void prime() { plan(); }
  ModelState& model() const noexcept { return *model_; }
  const std::shared_ptr<ModelState>& shared_model() const noexcept { return model_; }

  void set(PortRef port, const Tensor& tensor);
  void set_batch(PortRef port, const std::vector<Tensor>& tensors);
  Tensor get(PortRef port);
  void set_frame(std::size_t input, const Frame& frame);

  /// @param within  The inference of a composite device that this is a part of, or null: cancelled with it.
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

  /// The last handle went: waits until the inference is over and the device no longer touches the request's memory,
  /// unless the request's own callback is what dropped the handle.
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
    kCallback,  ///< The inference is over, its callback is being called: may be started again, wait() still waits.
    kDeferred,  ///< As kRunning, but over: its callback waits for an earlier callback of this request to return.
  };
  /// How the tensor that the user sees and the one that the device sees hang together.
  enum class Way : unsigned char {
    kNone,     ///< Nothing bound yet.
    kInPlace,  ///< The same memory.
    kPacked,   ///< Copied to or from `staging` at every inference.
    kRouted,   ///< Mapped by the router at every inference, because the way copies.
    kFrame,    ///< Planes, in place.
  };
  struct Slot {
    Tensor tensor;
    Tensor staging;
    std::array<Tensor, 4> planes;
    std::size_t plane_bytes = 0;
    std::vector<Tensor> batch;    ///< One tensor per item, or none.
    bool batch_in_place = false;  ///< They follow each other in one memory: nothing is to be copied.
    Ref<SlotLease> lease;         ///< Made when get() first gives the tensor away.
    Way way = Way::kNone;
    bool from_user = false;
  };
  struct DevicePlan {
    std::shared_ptr<const InputVariant> variant;
    std::unique_ptr<InferRequestImpl> impl;
  };

  /// @param shape  Of the whole port, where `tensor` is an item of its batch.
  void check(const PortInfo& port, const Tensor& tensor, const Shape& shape, bool is_input) const;
  Slot& slot(PortRef port) { return port.is_input ? inputs_[port.index] : outputs_[port.index]; }
  const PortInfo& info(PortRef port) const {
    return port.is_input ? model_->inputs()[port.index] : model_->outputs()[port.index];
  }
  /// Chooses the way and binds. May throw with nothing changed.
  void settle(PortRef port, Slot& slot, const Tensor& tensor, bool from_user);
  void bind(PortRef port, const Tensor& tensor);
  void allocate(PortRef port);
  DevicePlan& plan();
  void use_variant(const InputVariant::Key& key);
  /// As use_variant(). What the input held does not fit the new plan; it stays when that can't be built.
  void use_variant_for(Slot& slot, const InputVariant::Key& key);
  /// The formats that inputs take now; all empty without frames.
  InputVariant::Key key_now();
  bool takes_frames(std::size_t input) {
    return !plan().variant->key.empty() && plan().variant->key[input].has_value();
  }
  void use_tensor(std::size_t input);
  /// The slot's tensor for the user: under a lease through which set_shape() comes back, where that can matter.
  Tensor lend(PortRef port, Slot& slot);
  /// Takes over what set_shape() made of tensors that were lent.
  void follow_shapes();

  void begin(const Inference* within);
  void prepare();
  void prepare_input(std::size_t index, bool host_waits);
  void copy_batch(Slot& slot);
  void complete_outputs();
  void run_now(int stream);
  void start_on_device();
  /// What shortages are told of.
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
  /// That plan's, for cancel() from other threads, while plans_ may grow. Plans stay as long as there are handles.
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
  std::atomic<bool> posted_{false};  ///< In the executor's queue, as far as is known.
  std::atomic<bool> sync_{false};    ///< The inference in flight is infer()'s: no callback.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  std::shared_ptr<const Callback> callback_;
  std::atomic<bool> callback_active_{false};
  std::atomic<std::thread::id> callback_thread_{};
  std::shared_ptr<RequestState> self_;  ///< Keeps the state while a worker or device has it.
};

/// What handles share. Apart from the state, because a worker may hold that a little longer.
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
