// SPDX-License-Identifier: Apache-2.0
// One execution of a program: its working memory and its arguments.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/drivers/npu/compiler/program.hpp>
#include <tenon/drivers/npu/compiler/run_states.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu::compiler {

/// Called between two steps: returns whether to stop early.
struct Stop {
  bool (*asked)(void*) = nullptr;
  void* context = nullptr;
};

/// Result of a profiled run: the steps of its plan and their times.
struct Profile {
  std::shared_ptr<const engine::Plan> plan;
  std::chrono::nanoseconds begin{0};  ///< Time since the clock's epoch.
  std::vector<engine::Execution::Timing> timings;
};

/// @thread one at a time; several runs of one program may run in parallel.
class ProgramRun {
 public:
  explicit ProgramRun(std::shared_ptr<Program> program);
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  /// Takes effect at the next execute(). @param byte_strides  Outermost first; empty: packed. The memory must hold the
  /// argument's largest shape, and stays the caller's.
  /// @errors kOutOfRange: no such argument; kInvalidArgument: strides of another rank, or of a state.
  void set_argument(std::size_t index, void* data, std::span<const std::uint64_t> byte_strides = {});
  /// Allocates the memory for execute() if possible; does nothing while the program is not loaded.
  void prepare();
  /// Computes in the calling thread and `workers`; loads the program if needed. With static shapes only
  /// the first call allocates.
  /// @return false if `stop` ended the run: outputs and states are incomplete.
  /// @errors kFailedPrecondition: an argument is not set; kOutOfRange: an extent outside its bounds; exceptions of
  /// kernels.
  bool execute(engine::Workers& workers, Stop stop = {});
  /// Frees working memory; the next execute() allocates it again.
  void release();
  /// Bytes that the last run copied because memory was strided, unaligned or shared.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  /// The last run's profile; its plan is null without profiling.
  const Profile& profile() const { return profile_; }
  std::size_t working_bytes() const;

 private:
  struct Value {
    void* data = nullptr;
    std::vector<std::uint64_t> byte_strides;
  };
  struct Bound;
  struct Instance;

  std::vector<Shape> input_shapes() const;
  Instance& instance_for(const std::shared_ptr<const ProgramVariant>& variant);
  void place(Instance& instance);
  void place_outputs(Instance& instance);
  bool uses_strided_kernels(const Instance& instance) const;
  void bind(Instance& instance);
  bool run_placed(Instance& instance, engine::Workers& workers, Stop stop);
  /// Copies staged arguments in or out, with as many threads as the target has DMA engines.
  void move(const std::vector<Bound>& bounds, bool in);
  bool run_staged(const ProgramVariant& variant, engine::Workers& workers, Stop stop);
  Tensor client_tensor(std::size_t argument, const Shape& shape) const;
  void begin_states(engine::Workers& workers);
  void check_output(std::size_t port, const Shape& shape) const;
  /// Writes output shapes to the client's arguments, and stores those of states.
  void write_shapes(const std::vector<Shape>& outputs);
  const Value& value_of(bool is_input, std::size_t port) const;

  std::shared_ptr<Program> program_;
  std::vector<Value> values_;                       ///< By argument.
  std::vector<void*> addresses_;                    ///< Addresses in values_, for the states.
  std::vector<std::size_t> inputs_, outputs_;       ///< Argument index of each port.
  std::list<std::unique_ptr<Instance>> instances_;  ///< Latest first.
  std::unique_ptr<engine::Workers> movers_;
  RunStates states_;
  std::uint64_t copied_bytes_ = 0;
  Profile profile_;
};

}  // namespace tenon::npu::compiler
