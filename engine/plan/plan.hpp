// SPDX-License-Identifier: Apache-2.0
// What a plan consists of: buffers, places in them, and steps over places.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/cpu/engine/engine.hpp>
#include <tenon/devices/cpu/engine/kernels/elementwise.hpp>
#include <tenon/devices/cpu/engine/prepared_internal.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

using md = dnnl::memory::desc;
using BufferId = std::uint32_t;
inline constexpr BufferId kNoBuffer = ~BufferId{0};

/// A region of one buffer that starts at `offset` bytes.
struct Place {
  BufferId buffer = kNoBuffer;
  std::size_t offset = 0;
  explicit operator bool() const { return buffer != kNoBuffer; }
  friend bool operator==(const Place&, const Place&) = default;
};

enum class BufferKind : std::uint8_t {
  kArena,     ///< Part of the execution's memory; planned by lifetime.
  kConstant,  ///< Owned by the plan (or the model), shared by all executions, never written.
  kInput,     ///< What the user bound.
  kOutput,    ///< What the user bound; also written by inner steps whose value ends there.
  kState,     ///< A variable; lives from run to run.
};

struct Buffer {
  BufferKind kind = BufferKind::kArena;
  std::size_t size_bytes = 0;
  std::uint32_t index = 0;        ///< Port number; variable number, plus their count for its "is set" byte, plus twice
                                  ///< that for its next value.
  BufferId parent = kNoBuffer;    ///< This buffer is a part of that one...
  std::size_t parent_offset = 0;  ///< ...at this offset.
  std::size_t arena_offset = 0;   ///< Of a root buffer of the arena.
  int first_step = -1, last_step = -1;
  Tensor constant;  ///< Keeps the bytes of a constant.
};

struct Operand {
  Place place;
  bool written = false;
  /// Element i of the result is made of element i of this, which is read before: the result may lie over it. oneDNN's
  /// element-wise primitives do so without saying it here.
  bool in_step = false;
};

/// Of one run: whether it is to end early, for steps that take long.
struct RunControl {
  bool (*cancelled)(void*) = nullptr;
  void* context = nullptr;
  bool stopped = false;  ///< A step ended early: its outputs are not complete.
};

/// What an execution holds for a step. run() allocates nothing.
class StepState {
 public:
  RunControl* control = nullptr;  ///< The execution's.
  virtual ~StepState() = default;
  /// `pointers[i]` is the address of operand i; called when made, and again when a port that the step uses is bound
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
  /// The step can read operand 0 with any byte strides: the execution then tells it the strides (see Strided).
  bool reads_strided = false;
};

/// A oneDNN primitive with its arguments; operand i is argument arguments[i].
class PrimitiveStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;
  dnnl::engine engine;
  dnnl::primitive primitive;
  std::vector<std::pair<int, md>> arguments;
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
  std::vector<std::pair<ElementType, Shape>> tensors;  ///< Of each operand, inputs first.
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
/// Given to the states of TensorSteps and asked of no other: the user's tensor in place of a plain address.
class TensorState : public StepState {
 public:
  virtual void rebind_tensor(std::size_t operand, const Tensor& tensor) = 0;
};

struct Variable {
  std::string id;
  ElementType type;
  Shape shape;
  bool is_assigned = false;  ///< Some node gives it a new value in each run.
};

/// What 8-bit numbers q mean: scale * (q - zero_point).
struct Quantization {
  float scale = 1;
  std::int32_t zero_point = 0;
  ElementType type = ElementType::kU8;  ///< Or kI8.
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// Where a node's output lies once a step has run; for observers.
struct Made {
  std::shared_ptr<const Node> node;
  std::size_t output = 0;
  ElementType type;
  Shape shape;
  Place place;
  md desc;
  std::ptrdiff_t step = -1;                  ///< -1: before the first.
  std::optional<Quantization> quantization;  ///< When `desc` has 8 bits and the value is real.
};

struct PlanImpl {
  std::shared_ptr<const Model> model;
  Options options;
  dnnl::engine engine;
  std::vector<Port> inputs, outputs;
  std::vector<Variable> variables;
  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<std::pair<std::string, std::string>> optimized_out;
  std::vector<Made> made;
  std::vector<PackedRecord> packed;      ///< What lowering packed, for prepare_again().
  const PackedStore* store = nullptr;    ///< Constants packed before; while compiling only.
  std::vector<bool> input_read_strided;  ///< Every reader of that input takes byte strides.
  std::size_t arena_bytes = 0;
  std::size_t assigned_copy_bytes = 0;  ///< Of values that no step could write into their variable at once.

  /// Root of a buffer and the offset in it.
  Place root(Place place) const {
    while (buffers[place.buffer].parent != kNoBuffer) {
      place.offset += buffers[place.buffer].parent_offset;
      place.buffer = buffers[place.buffer].parent;
    }
    return place;
  }
  /// The same for a whole buffer, which lies in its root directly from then on: parts of parts of parts are not walked
  /// again.
  BufferId settle_root(BufferId buffer) {
    const Place found = root({buffer, 0});
    std::size_t offset = found.offset;
    while (buffer != found.buffer) {
      Buffer& part = buffers[buffer];
      const std::size_t inner = part.parent_offset;
      buffer = std::exchange(part.parent, found.buffer);
      part.parent_offset = offset;
      offset -= inner;
    }
    return found.buffer;
  }
};

/// Gives every root buffer of the arena an offset so that no two that live at the same time overlap. @return arena
/// size.
std::size_t plan_memory(PlanImpl& plan);
/// The same with another number of pairs up to which it looks at each pair of buffers that live at the same time.
std::size_t plan_memory(PlanImpl& plan, std::size_t max_pairs);

/// Alignment of buffers: a cache line, and the widest vector.
inline constexpr std::size_t kAlignment = 64;

}  // namespace tenon::inline v1::engine
