// SPDX-License-Identifier: Apache-2.0
// What a plan consists of: buffers, places in them, and steps over places.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/kernels/simd/elementwise.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/engine/plan/packed_constants.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/engine/plan/shared_constants.hpp>
#include <tenon/engine/plan/shared_primitives.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Lets steps that take long end a run early.
struct RunControl {
  bool (*cancelled)(void*) = nullptr;
  void* context = nullptr;
  bool stopped = false;    ///< A step ended early: its outputs are incomplete.
  bool committed = false;  ///< A step has changed what outlives the run: it goes on to its end.
};

/// An execution's state for a step. run() allocates nothing.
class StepState {
 public:
  RunControl* control = nullptr;  ///< The execution's.
  virtual ~StepState() = default;
  /// `pointers[i]` is the address of operand i. Called at creation, and again when a port that the step uses is bound
  /// anew.
  virtual void rebind(std::span<void* const> pointers) = 0;
  virtual void run(const dnnl::stream& stream) = 0;
};

/// Immutable after compile, shared by all executions.
class Step {
 public:
  virtual ~Step() = default;
  virtual std::unique_ptr<StepState> make_state() const = 0;

  StepInfo info;
  std::vector<Operand> operands;
  /// Whether the step can read operand 0 with any byte strides, which the execution then passes to it (see Strided).
  bool reads_strided = false;
};

/// A oneDNN primitive with its arguments; operand i is argument arguments[i].
class PrimitiveStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;
  dnnl::engine engine;
  dnnl::primitive primitive;
  std::vector<std::pair<int, md>> arguments;
  /// Runs on the operands' addresses after the primitive; null: nothing does.
  std::function<void(std::span<void* const> pointers)> after;
};

/// A kernel of ours: a callable over the operands' addresses. It must not allocate and must be safe to call from
/// several executions at once.
class KernelStep final : public Step {
 public:
  using Kernel = std::function<void(std::span<void* const> pointers)>;
  std::unique_ptr<StepState> make_state() const override;
  Kernel kernel;
};

/// A function of one or two small tensors of packed f32; operands are these and the result.
class ElementwiseStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;
  kernels::ElementwiseFunction function = nullptr;
  std::size_t count = 0;
  float alpha = 0, beta = 0;
};

/// A node of the operation table run by its reference kernel on packed tensors.
class ReferenceStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;
  std::shared_ptr<const Node> node;
  std::vector<std::pair<ElementType, Shape>> tensors;  ///< For each operand, inputs first.
  std::size_t input_count = 0;
};

/// A kernel that reads tensors with their own strides: the input stage on a decoder's planes.
class TensorStep final : public Step {
 public:
  using Kernel = std::function<void(std::span<const Tensor> tensors)>;
  std::unique_ptr<StepState> make_state() const override;
  Kernel kernel;
  std::vector<std::pair<ElementType, Shape>> tensors;
};
/// The state of a TensorStep: takes the user's tensor in place of a plain address.
class TensorState : public StepState {
 public:
  virtual void rebind_tensor(std::size_t operand, const Tensor& tensor) = 0;
};

struct Variable {
  std::string id;
  ElementType type;
  Shape shape;
  bool is_assigned = false;  ///< Some node assigns it in each run.
};

/// Where a node's output lies after a step has run; for observers and reports.
struct Made {
  std::shared_ptr<const Node> node;
  std::size_t output = 0;
  ElementType type;
  Shape shape;
  BufferSlice place;
  md desc;
  std::ptrdiff_t step = -1;                  ///< -1: before the first.
  std::optional<Quantization> quantization;  ///< Set if `desc` has 8 bits and the value is real.
  bool is_copy = false;                      ///< In another layout; observers see the first one only.
};

/// What the plans of one model have in common.
struct SharedParts {
  /// A kernel runs on memory of its own engine alone.
  const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  SharedConstants constants;
  SharedPrimitives primitives;
};

struct PlanImpl {
  std::shared_ptr<const Model> model;
  Options options;
  dnnl::engine engine;
  std::vector<Port> inputs, outputs;
  std::vector<Variable> variables;
  std::vector<Growth> growths;
  std::vector<Buffer> buffers;
  std::vector<std::shared_ptr<Step>>
      steps;  ///< Shared with plans for other shapes, and never changed once lowering is done with them.
  std::vector<std::pair<std::string, std::string>> optimized_out;
  std::vector<Made> made;
  std::vector<PackedRecord> packed;        ///< Constants that lowering packed, for packed_model_of().
  const PackedStore* store = nullptr;      ///< Constants packed before; while compiling only.
  SharedParts* shared = nullptr;           ///< Constants that other plans have packed or will; while compiling only.
  SharedPrimitives* primitives = nullptr;  ///< Kernels made before; while compiling only.
  std::vector<bool> input_read_strided;    ///< Every reader of that input takes byte strides.
  std::vector<Tensor> stand_ins;  ///< Shared constants without memory that lowering was given; while compiling only.
  std::size_t arena_bytes = 0;
  std::size_t own_constant_bytes = 0;   ///< What constants take that no other plan has.
  std::size_t assigned_copy_bytes = 0;  ///< For values that no step could write into their variable directly.

  BufferSlice root(BufferSlice place) const { return planning::root(buffers, place); }
  BufferId settle_root(BufferId buffer) { return planning::settle_root(buffers, buffer); }
};

}  // namespace tenon::inline v1::engine
