// SPDX-License-Identifier: Apache-2.0
// A plan's launches with memory of their own: what one request runs.
#pragma once

#include <array>
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
  /// As take(). @param twin  The device's, if the kernels are to be there, too; outlives this.
  /// @param beside  Whose memory it shares, if that is enough: never run both at a time. @errors those of take().
  Execution(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const LaunchPlan> plan, Twin* twin = nullptr,
            const Execution* beside = nullptr);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Runs this plan from now on: nothing is bound, unless it is the plan of now.
  /// @cost a native call for each kernel that the plan before does not have at this place.
  /// @errors kResourceExhausted; those of native calls. After one of these it can only be destroyed.
  void take(std::shared_ptr<const LaunchPlan> plan);
  const LaunchPlan& plan() const { return *plan_; }
  /// Says that its plan comes again (TwinWork).
  void keep() { is_kept_ = true; }
  bool shares_memory(const Execution& other) const { return arena_ == other.arena_; }
  /// Whether take() frees no memory that an inference may still use.
  bool has_memory_for(const LaunchPlan& plan) const noexcept;
  /// The memory must live until what was enqueued with it is over.
  /// @param item  Which tensor of a batch in several.
  void bind_input(std::size_t index, std::size_t item, BoundMemory memory);
  void bind_output(std::size_t index, BoundMemory memory);
  void bind_state(std::size_t index, bool next, BoundMemory memory);

  /// Records what command buffers can take, unless it is recorded. @param queue  Always the same one, in order.
  /// @errors those of native calls: nothing was enqueued.
  void record(cl_command_queue queue);
  /// Enqueues all launches, in order; allocates nothing without `events`. @cost a native call for each, and for each argument that differs
  /// from when it ran last.
  /// @param queue  In order, or else barriers are put between launches.
  /// @param way  kBuffer: what was recorded for the queue is enqueued so; not with `events`.
  /// @param events  Get an event for each launch, for profiles; null: none are made.
  /// @errors those of native calls: what was enqueued before runs.
  void enqueue(cl_command_queue queue, bool is_in_order, LaunchWay way, std::vector<client::Handle<cl_event>>* events);
  /// Whether the device's twin has all kernels by now, and all memory that is bound.
  bool has_twin();
  /// Whether the twin has come, and has not all of the plan's kernels, or has no such launches. @pre has_twin() was asked.
  bool refuses_twin() const { return twins_kernels_ == TwinsKernels::kRefused; }
  /// What the twin runs. Valid until the next change. @pre has_twin().
  TwinWork twin_work();

 private:
  /// An argument of OpenCL's as it is to be. A kernel is told it before it runs, so what the twin runs costs no calls.
  struct Wanted {
    enum class Kind : std::uint8_t { kNone, kNumber, kOffset, kMemory } kind = Kind::kNone;
    bool is_told = false;
    std::uint64_t number = 0;
    cl_mem buffer = nullptr;
    const std::byte* pointer = nullptr;  ///< USM or SVM, instead of a buffer.
    std::shared_ptr<const void> kept{};  ///< The memory, so that its address means no other.
  };
  struct Step {
    client::Handle<cl_kernel> kernel;
    std::shared_ptr<const KernelText> text;
    std::vector<Wanted> arguments;
    TwinFunction function;
    std::shared_ptr<const KernelText> twin_text;  ///< The kernel whose function it is.
    bool is_own = true;                           ///< It uses no memory of the request's.
    bool is_told = true;                          ///< All arguments are.
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
    std::size_t step = 0;
    cl_uint at = 0;
    std::size_t offset = 0, element_bytes = 1;
    bool is_pitch = false;
    std::int32_t number = 0;  ///< The pitch in elements of rows that lie side by side.
    bool has_twin = false;    ///< The twin has the memory that is bound.
    std::uint32_t next = 0;   ///< One more than the place of the next use of the same memory; 0: none.
  };
  void take_memory();
  void take_kernels();
  /// For the next request.
  void give_back(Step& step) noexcept;
  void take_arguments(std::size_t index);
  /// What the twin runs for a step, but for its arguments.
  void take_twin(std::size_t index);
  void find_runs();
  void launch(std::size_t index, cl_command_queue queue, bool is_in_order,
              std::vector<client::Handle<cl_event>>* events);
  void bind(planning::BufferKind kind, std::uint32_t index, BoundMemory memory);
  /// @name From now on
  /// @{
  void set_number(std::size_t step, cl_uint at, std::int32_t number);
  void set_offset(std::size_t step, cl_uint at, std::uint64_t elements);
  void set_memory(std::size_t step, cl_uint at, const Memory& memory);
  /// @}
  void set(std::size_t step, cl_uint at, Wanted wanted);
  /// Tells OpenCL what differs. @errors those of native calls.
  void tell(Step& step) const;
  void tell(const Step& step, cl_uint at) const;
  void tell_twin(std::size_t step, cl_uint at, std::uint64_t value);

  const std::shared_ptr<const Gpu> gpu_;
  Twin* const twin_;
  std::shared_ptr<const LaunchPlan> plan_;
  Memory arena_, counters_;
  std::vector<Step> steps_;
  std::vector<Use> uses_;
  /// By kind and index of what is used: as Use::next, the use that was found last.
  std::array<std::vector<std::uint32_t>, static_cast<std::size_t>(planning::BufferKind::kState) + 1> last_uses_;
  std::vector<Run> runs_;                  ///< All steps, in order.
  std::vector<TwinLaunch> twin_launches_;  ///< One for each step, where there is a twin.
  std::uint64_t twin_version_ = 0;         ///< As TwinWork's; 0: a launch has changed since.
  bool is_kept_ = false;                   ///< See keep().
  bool has_twins_memory_ = false;          ///< The twin has all memory of the plan's own.
  enum class TwinsKernels : std::uint8_t { kAwaited, kThere, kRefused } twins_kernels_ = TwinsKernels::kAwaited;
};

}  // namespace tenon::inline v1::gpu_device
