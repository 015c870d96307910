// SPDX-License-Identifier: Apache-2.0
// The CPU engine: a model in, a plan of kernels out, executed on host memory. Independent of the runtime.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1 {
class HostBudget;
class TimeLimit;
}  // namespace tenon::inline v1

namespace tenon::inline v1::planning {
struct Growth;
}

namespace tenon::inline v1::engine {

struct Options {
  /// Workers of one execution, the calling thread included. 0: all CPUs that this process may use.
  int threads = 0;
  /// How many of these make the plan (fold and pack constants). 0: all.
  int compile_threads = 0;
  /// Measures every step; costs two clock reads per step.
  bool profile = false;
  /// Type in which convolutions, matrix products and the nodes between them compute: kF32, or kBf16, which sums in f32
  /// and rounds results to 8 bits of mantissa; inputs, outputs and nodes without a bf16 kernel stay f32.
  ElementType precision = ElementType::kF32;
  /// Products with weights of 4 or 8 bits round their left side to 8 bits, with one scale for so many
  /// neighbours, where the CPU multiplies such numbers (AVX512_VNNI). 0: never.
  std::size_t dynamic_quantization = 0;
  /// Types in which caches of f32 lie that attention reads and that grow in place: kF32, kBf16, kF16 or kU8, and of kU8
  /// how many neighbours share a scale (see plan/growth.hpp). 0: those of a position and head.
  ElementType key_cache = ElementType::kF32, value_cache = ElementType::kF32;
  std::size_t key_cache_group = 0, value_cache_group = 0;
  /// Off: every node is a step of its own with a value of its own in memory. For tests and for finding faults.
  bool fuse = true;
  /// Off: every tensor is packed row-major. For tests and for finding faults.
  bool blocked_layouts = true;
  /// How images lie between steps if blocked_layouts is on. Values other than kAuto are for tests and finding faults.
  enum class Images : std::uint8_t {
    kAuto,          ///< As the fastest convolutions of this CPU read them: with AVX-512 kChannelsLast, else kBlocks.
    kBlocks,        ///< In blocks of 8 or 16 channels.
    kChannelsLast,  ///< Channels innermost.
  };
  Images images = Images::kAuto;
  /// Every node runs by its reference kernel. For tests.
  bool reference_only = false;
};

/// How the threads of a Workers run.
struct WorkerOptions {
  enum class Priority : std::uint8_t { kLow, kNormal, kHigh };
  int threads = 0;  ///< 0: all CPUs that this process may use.
  int active = 0;   ///< How many of these work at once; loops are still split for all of them. 0: all.
  /// CPU of each thread while it works here; empty: the operating system chooses, as it always does outside.
  std::vector<int> cpus;
  /// Which of several Workers an idle thread helps first.
  Priority priority = Priority::kNormal;
  /// Denormal numbers are taken as zero, both as operands and as results.
  bool flush_denormals = false;
};

/// A bounded number of threads, shared by the executions that run on it one after the other.
/// @thread run() from any thread; concurrent calls share the same workers.
class Workers {
 public:
  /// 0: all CPUs that this process may use.
  explicit Workers(int threads = 0);
  explicit Workers(const WorkerOptions& options);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const noexcept { return threads_; }
  /// Calls `body` inside the arena, so that every parallel loop in it uses these threads only.
  void run(const std::function<void()>& body);

  /// CPUs that this process may use: affinity and cgroup quota taken into account.
  static int available_cpus();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int threads_;
};

struct Port {
  std::string name;
  ElementType type = ElementType::kUndefined;
  Shape shape;
};

/// One step of a plan, for reports.
struct StepInfo {
  std::string node_name;           ///< Friendly name of the node whose value the step computes.
  std::string node_type;           ///< "Convolution"
  std::string kernel;              ///< "jit:avx512_core+relu", "reference"
  std::vector<std::string> fused;  ///< Friendly names of the nodes that it also computes.
  bool is_reference = false;       ///< Runs by the slow kernel of the operation table.
  /// Friendly name and type of the nodes of the model that was given, before any pass, which it computes; none for a step
  /// that only moves values to another layout or type. And of nodes whose values were known when it was compiled.
  std::vector<std::pair<std::string, std::string>> originals, folded;
};

struct PlanImpl;
struct PartRequest;
struct Relowering;
struct ExecutionImpl;
struct PackedModel;
struct SharedParts;

/// A model prepared for this CPU: constants packed, kernels made, memory laid out. Shared by its executions.
/// @thread all members from any thread.
class Plan {
 public:
  /// @param model  static shapes only; not changed, and kept alive for the constants that are used in place.
  /// @errors kUnimplemented   operations without any kernel: the message names every node of them
  ///         kFailedPrecondition  a dynamic shape (names the node): reshape the model first
  ///         kResourceExhausted, kDeadlineExceeded  more memory or time than model_limits() allow
  static std::shared_ptr<const Plan> compile(const std::shared_ptr<const Model>& model, const Options& options = {});
  /// From a model whose passes have run, with the constants that were packed before; see restore_plan().
  static std::shared_ptr<const Plan> compile_packed(const PackedModel& prepared, const Options& options);
  /// From a model whose passes have run. Constants that `shared` holds, and kernels, serve all plans that use it.
  /// @param growths  Caches that lie in memory with room (see plan/growth.hpp): the bound input has the strides of that
  ///        room, and the result needs no memory of its own.
  /// @param before  What the last plan of the same model, with other shapes, left there: only what they change is
  ///        lowered. Filled for the next time. Null: nothing is kept.
  static std::shared_ptr<const Plan> compile_prepared(const std::shared_ptr<const Model>& prepared,
                                                      const Options& options, SharedParts& shared,
                                                      std::span<const planning::Growth> growths = {},
                                                      Relowering* before = nullptr);
  ~Plan();

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const Options& options() const;
  /// The first kernel reads this input with any byte strides; others want it packed.
  bool reads_strided(std::size_t input) const;
  /// The output may lie in the memory of an input of its size: no step reads the input after the first that writes
  /// the output, or that step computes element by element in place.
  bool may_share(std::size_t input, std::size_t output) const;
  /// The output is what its input becomes, in that input's memory: it is not bound.
  bool is_grown(std::size_t output) const;
  std::vector<StepInfo> steps() const;
  /// Friendly name and type of nodes that have no step of their own: fused, folded or just a view.
  std::vector<std::pair<std::string, std::string>> optimized_out() const;
  /// Steps that run by the reference kernel.
  std::size_t reference_step_count() const;
  /// Bytes of one execution's memory, and of the constants that the plan packed.
  std::size_t arena_bytes() const;
  std::size_t constant_bytes() const;
  /// Bytes that live as long as the plan: constants that it shares with no other plan, and an estimate of its steps
  /// and their machine code.
  std::size_t held_bytes() const;
  /// For the engine's own sources.
  const PlanImpl& impl() const { return *impl_; }

 private:
  friend class Execution;
  Plan() = default;
  static std::shared_ptr<const Plan> build(const std::shared_ptr<const Model>& prepared, const Options& options,
                                           const PackedModel* packed, const HostBudget& budget, const TimeLimit& time);
  /// Lays out memory for what was lowered.
  static std::shared_ptr<const Plan> finish(PlanImpl lowered, const std::vector<PartRequest>& requests);
  std::unique_ptr<PlanImpl> impl_;
};

/// Memory for the values between nodes that several executions share, of which one runs at a time. It grows to what
/// the largest needs.
/// @thread one at a time, together with its executions.
class Workspace {
 public:
  /// @errors kResourceExhausted.
  void reserve(std::size_t size_bytes);
  char* data() const { return static_cast<char*>(memory_.data()); }
  std::size_t size_bytes() const { return memory_.size_bytes(); }

 private:
  Tensor memory_{ElementType::kU8, Shape{1}};
};

/// One request's state: its memory, its bindings. Allocates when created and when a tensor is bound, not in run().
/// @thread one thread at a time; several executions of one plan run in parallel.
class Execution {
 public:
  /// @param workspace  Null: memory of its own.
  explicit Execution(std::shared_ptr<const Plan> plan, std::shared_ptr<Workspace> workspace = nullptr);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Binds host memory of the port's type and shape until the next bind. Strided tensors are packed at every run and
  /// counted in packed_bytes(), unless the first kernel reads strides. An empty tensor unbinds.
  /// @errors kInvalidArgument: another type or shape, or memory that the host cannot reach; kOutOfRange: no such port.
  void bind_input(std::size_t index, const Tensor& tensor);
  void bind_output(std::size_t index, const Tensor& tensor);
  /// The bound tensor, or the execution's own memory for an output without one.
  Tensor output(std::size_t index);

  /// Runs once, in the calling thread and the workers. `cancelled` (may be null) is polled between steps.
  /// @return false when cancelled. @errors kFailedPrecondition: an input is not bound; what a kernel throws.
  bool run(Workers& workers, bool (*cancelled)(void*) = nullptr, void* context = nullptr);

  /// Called during run() with each output of each node as soon as it is complete, packed, under the node's friendly
  /// name; fused and folded nodes are not seen. For comparisons with the reference; slow.
  using Observer = std::function<void(const std::string& node, std::size_t output, const Tensor& value)>;
  void observe(Observer observer);

  /// For steps that run a plan within a plan: packed memory by address, not checked, aligned to its type, inputs and
  /// outputs disjoint. Place every port before run_placed(), which runs in the calling thread's workers.
  void place_input(std::size_t index, void* data);
  void place_output(std::size_t index, void* data);
  bool run_placed(bool (*cancelled)(void*) = nullptr, void* context = nullptr);

  /// Bytes moved by the last run because an input or output was strided, unaligned to its type, or aliased, or because
  /// a variable was assigned a value that lies elsewhere (an input, a constant, another variable).
  std::uint64_t packed_bytes() const;
  /// Time of each step in the last run, in the order of Plan::steps(). Empty unless Options::profile.
  struct Timing {
    std::chrono::nanoseconds start{0}, duration{0};
  };
  const std::vector<Timing>& timings() const;

  /// State variables (ReadValue, Assign): names, and their current values in memory that run() reads and writes.
  std::vector<std::string> variables() const;
  /// The variable's memory itself: the next run reads what is written there. Once a run has assigned another value, the
  /// tensor still holds this one.
  Tensor variable(std::size_t index) const;
  /// False before the first run and after reset_variable(): the next run takes the initial value.
  bool is_variable_set(std::size_t index) const;
  /// @errors kInvalidArgument: another type or shape.
  void set_variable(std::size_t index, const Tensor& value);
  /// The next run takes the initial value that the model gives.
  void reset_variable(std::size_t index);

 private:
  std::unique_ptr<ExecutionImpl> impl_;
};

/// This CPU multiplies bf16 natively, so that precision kBf16 gains time.
bool has_native_bf16();
/// This CPU adds four products of 8-bit numbers exactly. Others add two in 16 bits with saturation, so that weights
/// beyond -64..64 would give wrong sums: there such layers are computed with real numbers.
bool has_native_int8();

/// True when the engine can run the node: by a kernel of its own or by the operation table's.
bool is_supported(const Node& node);

}  // namespace tenon::inline v1::engine
