// SPDX-License-Identifier: Apache-2.0
// Requests of the NPU: a command list each, bound once and changed only where tensors change.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include <tenon/devices/npu/compiled_model.hpp>
#include <tenon/devices/npu/graph.hpp>
#include <tenon/devices/npu/memory.hpp>

namespace tenon::inline v1::npu_device {

/// What one argument of the graph is bound to.
struct Binding {
  std::byte* data = nullptr;
  std::size_t item_bytes = 0;  ///< From one item of the batch to the next.
  bool has_strides = false;
  abi::ArgumentStrides strides;  ///< In elements, innermost first.
  Tensor tensor;                 ///< Keeps the memory.
  bool changed = true;
};

/// The command lists of a request, one for each item of the batch that it takes apart, and their fence.
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
  /// Inferences go to another queue from now on.
  void use(Queue queue);
  /// Brings the lists up to date for `items` and hands them to the queue. @errors what the driver gives; then nothing
  /// was handed over.
  void submit(std::size_t items);
  /// Waits for the submission's end. @errors kCancelled, kDeadlineExceeded: it may still be running, and its memory is
  /// kept as far as it is ours to keep; what the driver gives.
  void wait(const Inference& inference);
  /// Has the driver end the submission, if it can; wait() tells. @thread any
  void cancel() noexcept;
  /// Of the last submission. @errors what the driver gives.
  std::vector<abi::LayerInfo> layers() const;
  /// Device time of the last submission, by its own clock. @pre timestamps
  std::chrono::nanoseconds device_time() const;

 private:
  struct List {
    Handle<ze_command_list_handle_t> handle;
    ze_command_list_handle_t own = nullptr;      ///< As the driver knows it.
    ze_command_list_handle_t mutated = nullptr;  ///< As the calls that change it know it.
    std::uint64_t command_id = 0;
    bool recorded = false;
  };
  void record(List& list, std::size_t item);
  void update(List& list, std::size_t item);
  void append_timestamp(List& list, std::size_t which);
  bool give_up(const Inference& inference) noexcept;
  /// After an error: whether the device may still touch memory.
  bool may_run() const noexcept;
  /// Waits a moment for what a cancelled inference left running. @return false: it still runs.
  bool settle(std::chrono::nanoseconds limit) noexcept;
  /// @errors Busy: it runs for longer than a moment.
  void require_idle();

  std::shared_ptr<Graph> graph_;
  Queue queue_;
  std::vector<Binding> bindings_;
  std::vector<List> lists_;
  std::vector<ze_command_list_handle_t> raw_;
  std::vector<abi::MutableGraphArgument> changes_;
  Handle<ze_fence_handle_t> fence_;
  Owned<abi::ProfilingPoolHandle> pool_;
  Owned<abi::ProfilingQueryHandle> query_;
  Tensor stamps_;
  std::mutex mutex_;  ///< Of lists_ and submitted_, which cancel() reads.
  std::size_t submitted_ = 0;
  std::vector<Tensor> abandoned_;  ///< What was bound to a submission that still runs.
  int slices_ = 0;                 ///< Since the inference that is waited for was cancelled.
  std::size_t updated_items_ = 0;
  bool stale_ = false;  ///< An update failed half-way: lists are recorded anew.
  bool running_ = false;
};

/// A state of a request: a buffer that the graph reads and writes. One of open shape has two, which take turns: what
/// state() gave is the state until the next inference ends.
/// @thread one at a time; nothing while an inference runs.
class State final : public VariableStateImpl {
 public:
  /// @param index  Of the compiled model's variables.
  State(const CompiledModel& owner, std::size_t index);
  std::string name() const override { return variable_.name; }
  Tensor state() const override { return tensor_; }
  void set_state(const Tensor& state) override;
  void reset() override;

  /// Its first value is to be computed before the next inference.
  bool is_open() const { return is_open_; }
  /// @param value  Packed. @errors kInvalidArgument: of a shape or type that the state has not.
  void write(const Tensor& value);
  /// Before an inference.
  void bind(Commands& commands);
  /// After one, of all states before any advances. @errors kOutOfRange: it outgrew its bounds.
  void check_next() const;
  void advance();

 private:
  bool is_growing() const { return variable_.shape.is_dynamic(); }
  void bind(Commands& commands, std::uint32_t argument, const Tensor& tensor);
  Shape next_shape() const;

  Variable variable_;
  CompiledModel::StatePlan plan_;
  Tensor tensor_, next_;  ///< next_ where is_growing().
  Tensor extents_, next_extents_;
  bool is_open_ = false;
};

}  // namespace tenon::inline v1::npu_device
