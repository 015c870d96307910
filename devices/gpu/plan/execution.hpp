// SPDX-License-Identifier: Apache-2.0
// A plan's launches with memory of their own: what one request runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/plan/command_buffer.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/devices/gpu/plan/launch_trial.hpp>
#include <tenon/devices/gpu/program/library.hpp>

namespace tenon::inline v1::gpu_device {

/// The constants of a model's plans: one buffer for the same bytes, as long as some plan reads it.
/// @thread all members from any thread.
class Constants {
 public:
  explicit Constants(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  /// Copied to the device unless it is there. @errors kResourceExhausted; those of native calls.
  std::shared_ptr<const DeviceBuffer> buffer(const Tensor& bytes);

 private:
  const std::shared_ptr<const Gpu> gpu_;
  std::mutex mutex_;
  std::map<const void*, std::weak_ptr<const DeviceBuffer>> buffers_;
};

/// Where a port's or a state's tensor lies.
struct BoundMemory {
  cl_mem buffer = nullptr;
  std::byte* pointer = nullptr;  ///< USM or SVM, instead of a buffer.
  std::size_t offset = 0;        ///< Bytes.
  std::size_t pitch = 0;         ///< Bytes from row to row, where kernels take that; 0: side by side.
};

/// Plans take turns in it: kernel objects, what these were told, and memory stay where the next plan wants the same.
/// @thread one at a time.
class Execution {
 public:
  /// As take(). @errors those of take().
  Execution(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const LaunchPlan> plan);

  /// Runs this plan from now on: nothing is bound. @cost a native call for each argument that differs, and for each kernel
  /// that the plan before does not have at this place.
  /// @errors kResourceExhausted; those of native calls. After one of these it can only be destroyed.
  void take(std::shared_ptr<const LaunchPlan> plan);
  const LaunchPlan& plan() const { return *plan_; }
  /// The memory must live until what was enqueued with it is over.
  /// @param item  Which tensor of a batch in several.
  void bind_input(std::size_t index, std::size_t item, BoundMemory memory);
  void bind_output(std::size_t index, BoundMemory memory);
  void bind_state(std::size_t index, bool next, BoundMemory memory);

  /// Records what command buffers can take, unless it is recorded. @param queue  Always the same one, in order.
  /// @errors those of native calls: nothing was enqueued.
  void record(cl_command_queue queue);
  /// Enqueues all launches, in order; allocates nothing without `events`.
  /// @param queue  In order, or else barriers are put between launches.
  /// @param way  kBuffer: what was recorded for the queue is enqueued so; not with `events`.
  /// @param events  Get an event for each launch, for profiles; null: none are made.
  /// @errors those of native calls: what was enqueued before runs.
  void enqueue(cl_command_queue queue, bool is_in_order, LaunchWay way,
               std::vector<client::Handle<cl_event>>* events) const;

 private:
  /// What a kernel was told last, of one argument of OpenCL's.
  struct Told {
    std::shared_ptr<const void> kept;  ///< The memory, so that its address means no other.
    std::optional<std::uint64_t> number;
  };
  struct Step {
    client::Handle<cl_kernel> kernel;
    std::shared_ptr<const KernelText> text;
    std::vector<Told> told;
    bool is_own = true;  ///< It uses no memory of the request's.
  };
  using Memory = std::shared_ptr<const DeviceBuffer>;
  /// Steps side by side that can be recorded, or that cannot.
  struct Run {
    std::size_t begin = 0, end = 0;
    bool is_recordable = false;
    CommandBuffer buffer;  ///< Empty until record().
  };
  /// Fewer kernels are not worth a buffer.
  static constexpr std::size_t kLeastRecorded = 4;
  /// An argument that lies in memory of the request's.
  struct Use {
    planning::BufferKind kind = planning::BufferKind::kInput;
    std::uint32_t index = 0;
    std::size_t step = 0;
    cl_uint at = 0;
    std::size_t offset = 0, element_bytes = 1;
    bool is_pitch = false;
    std::int32_t number = 0;  ///< The pitch in elements of rows that lie side by side.
  };
  void take_memory();
  void take_kernels();
  void take_arguments(std::size_t index);
  void find_runs();
  void launch(std::size_t index, cl_command_queue queue, bool is_in_order,
              std::vector<client::Handle<cl_event>>* events) const;
  void bind(planning::BufferKind kind, std::uint32_t index, BoundMemory memory);
  /// @name Unless the kernel was told so last
  /// @{
  static void set_number(Step& step, cl_uint at, std::int32_t number);
  static void set_offset(Step& step, cl_uint at, cl_ulong elements);
  void set_memory(Step& step, cl_uint at, const Memory& memory) const;
  /// @}
  /// An application's. @param pointer  USM or SVM, unless there is a buffer.
  void set_memory(Step& step, cl_uint at, cl_mem buffer, const std::byte* pointer) const;

  const std::shared_ptr<const Gpu> gpu_;
  std::shared_ptr<const LaunchPlan> plan_;
  Memory arena_, counters_;
  std::vector<Step> steps_;
  std::vector<Use> uses_;
  std::vector<Run> runs_;  ///< All steps, in order.
};

}  // namespace tenon::inline v1::gpu_device
