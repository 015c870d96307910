// SPDX-License-Identifier: Apache-2.0
// The NPU's requests: each has a command list that is recorded once and changed only where tensors change.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/devices/npu/compiled_model.hpp>
#include <tenon/devices/npu/graph.hpp>
#include <tenon/devices/npu/memory.hpp>  // IWYU pragma: export
#include <tenon/devices/npu/native.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::npu_device {

/// The binding of one graph argument.
struct Binding {
  std::byte* data = nullptr;
  std::size_t item_bytes = 0;     ///< Distance between items of the batch.
  std::vector<std::byte*> items;  ///< Where each item of a batch lies that is in several tensors; else empty.
  bool has_strides = false;
  abi::ArgumentStrides strides;      ///< In elements, innermost first.
  Tensor tensor;                     ///< Keeps the memory alive.
  std::vector<Tensor> item_tensors;  ///< The same for items.
  int fence_fd = -1;                 ///< A dma-buf for whose fences the driver does not wait by itself; -1: none.
  bool changed = true;
  std::byte* address(std::size_t item) const { return items.empty() ? data + item * item_bytes : items[item]; }
};

/// A request's command lists, one for each item of the split batch, and their fence.
/// @thread one at a time.
class Commands {
 public:
  using Queue = std::shared_ptr<const CompiledModel::Queue>;
  Commands(std::shared_ptr<Graph> graph, Queue queue, bool profile, bool timestamps);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  Binding& binding(std::size_t argument) { return bindings_[argument]; }
  void bind(std::size_t argument, const Tensor& tensor, std::byte* data, std::size_t item_bytes,
            const ByteStrides* byte_strides);
  /// The same for a batch whose items are in several tensors, none of which has fences for the host.
  void bind_items(std::size_t argument, std::span<const Tensor> tensors, std::vector<std::byte*> items);
  /// Makes the next submission wait for a ze_event of this ze_context, on the device. False for any other point: only
  /// the host could relay it, and a queue that waits for the host may wait for an inference that is behind it in the
  /// queue.
  bool wait_for(const TimelinePoint& point);
  /// Waits until other devices have finished with the dma-bufs, if the driver does not wait itself. @errors
  /// kDeadlineExceeded
  void wait_for_fences(Ledger& ledger) const;
  /// Submits future inferences to another queue.
  void use(Queue queue);
  /// Updates the lists for `items` and submits them to the queue. @errors those of the driver;
  /// nothing was submitted then.
  void submit(std::size_t items);
  /// Waits for the submission to end. @errors kCancelled, kDeadlineExceeded: it may still be running, and its memory is
  /// kept where we own it; those of the driver.
  void wait(Inference& inference);
  /// Asks the driver to end the submission, if it can; wait() reports the outcome. @thread any
  void cancel() noexcept;
  /// Layer times of the last submission. @errors those of the driver.
  std::vector<abi::LayerInfo> layers() const;
  /// Duration of the last submission on the device's clock. @pre timestamps
  std::chrono::nanoseconds device_time() const;

 private:
  struct List {
    Handle<ze_command_list_handle_t> handle;
    ze_command_list_handle_t own = nullptr;      ///< The driver's handle.
    ze_command_list_handle_t mutated = nullptr;  ///< The handle for the calls that change it.
    std::uint64_t command_id = 0;
    bool recorded = false;
  };
  /// Before it is bound to other tensors; what still runs keeps those that it has.
  void release(Binding& binding);
  void record(List& list, std::size_t item);
  void update(List& list, std::size_t item);
  void append_timestamp(List& list, std::size_t which);
  /// Records the wait for before_. @return the list, or null if there is nothing to wait for.
  ze_command_list_handle_t record_waits();
  bool waits_for_events() const;
  /// Ends a submission whose events do not come. @errors kDeadlineExceeded, always.
  [[noreturn]] void end_late();
  bool give_up(const Inference& inference) noexcept;
  /// After an error: whether the device may still access memory.
  bool may_run() const noexcept;
  /// Waits up to `limit` for a cancelled inference that still runs. @return false if it still runs.
  bool settle(std::chrono::nanoseconds limit) noexcept;
  /// @errors Busy: a cancelled inference still runs after a short wait.
  void require_idle();

  std::shared_ptr<Graph> graph_;
  Queue queue_;
  std::vector<Binding> bindings_;
  std::vector<List> lists_;
  std::vector<ze_command_list_handle_t> raw_;  ///< The list that waits, then those of the items.
  Handle<ze_command_list_handle_t> waits_;
  std::vector<TimelinePoint> before_;  ///< Points of ze_events that the next submission waits for, or the last one did.
  std::vector<abi::MutableGraphArgument> changes_;
  Handle<ze_fence_handle_t> fence_;
  Owned<abi::ProfilingPoolHandle> pool_;
  Owned<abi::ProfilingQueryHandle> query_;
  Tensor stamps_;
  std::mutex mutex_;  ///< Guards lists_ and submitted_, which cancel() reads.
  std::size_t submitted_ = 0;
  std::vector<Tensor> abandoned_;  ///< Tensors that a still running submission uses.
  int slices_ = 0;                 ///< Wait slices since the current inference was cancelled.
  std::size_t updated_items_ = 0;
  bool stale_ = false;  ///< An update failed half-way: record all lists again.
  bool running_ = false;
};

/// A state of a request: a buffer that the graph reads and writes. With a dynamic shape it has two that alternate: the
/// tensor from state() stays the current state until the next inference ends.
/// @thread one at a time; nothing while an inference runs.
class State final : public VariableStateImpl {
 public:
  /// @param index  in the compiled model's variables.
  State(const CompiledModel& owner, std::size_t index);
  std::string name() const override { return variable_.name; }
  Tensor state() const override { return tensor_; }
  void set_state(const Tensor& state) override;
  void reset() override;

  /// Whether its initial value must be computed before the next inference.
  bool is_open() const { return is_open_; }
  /// @param value  Packed. @errors kInvalidArgument: wrong shape or type.
  void write(const Tensor& value);
  /// Called before an inference.
  void bind(Commands& commands);
  /// Called after an inference for all states, before any advances. @errors kOutOfRange: it outgrew its bounds.
  void check_next() const;
  void advance();

 private:
  bool is_growing() const { return variable_.shape.is_dynamic(); }
  void bind(Commands& commands, std::uint32_t argument, const Tensor& tensor);
  Shape next_shape() const;

  Variable variable_;
  CompiledModel::StatePlan plan_;
  Tensor tensor_, next_;  ///< next_ is used if is_growing().
  Tensor extents_, next_extents_;
  bool is_open_ = false;
};

}  // namespace tenon::inline v1::npu_device
