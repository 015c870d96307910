// SPDX-License-Identifier: Apache-2.0
// The builder of a plan while nodes are lowered: values and their layouts in memory, places, steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/kernels/low_bit/quantize.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/engine/plan/shared_primitives.hpp>
#include <tenon/graph/model_ops.hpp>  // IWYU pragma: export
#include <tenon/graph/node.hpp>
#include <tenon/planning/buffer_liveness.hpp>

namespace tenon::inline v1::engine {

/// Where the channels of [N, C, spatial...] lie: as the shape says, in blocks of channel_block(), or innermost.
enum class ChannelLayout : std::uint8_t { kPlain, kBlocked, kChannelsLast };

/// A cache in fewer bits than its type has, as it lies: rows that each lie together, with strides between them.
struct NarrowCache {
  BufferSlice place;
  CacheFormat format;
  std::size_t scales_offset = 0;     ///< Bytes behind the first number.
  std::vector<std::size_t> strides;  ///< In numbers, of each axis; the last is 1.
};

/// A tensor of the graph, in one or several layouts. The type that its elements lie in is part of a layout: f32 values
/// may lie as bf16, or as 8-bit numbers when the value says what these mean.
struct Value {
  ElementType type = ElementType::kUndefined;
  Shape shape;
  struct Variant {
    BufferSlice place;
    md desc;                 ///< Undefined for types and ranks that oneDNN does not know; those are always packed.
    bool plain = true;       ///< Packed row-major in the value's own type.
    bool packed = true;      ///< Packed row-major, in the type of `desc`.
    std::uint32_t unit = 0;  ///< The unit of the walk that made it.
    friend bool operator==(const Variant&, const Variant&) = default;
  };
  std::vector<Variant> variants;
  std::optional<Quantization> quantization;  ///< For 8-bit variants of a real value.
  /// It lies so, for the steps that read it there; it gets a variant, expanded, when another one wants it.
  std::optional<NarrowCache> narrow;
  Tensor constant;          ///< Empty unless known at compile time.
  int remaining_uses = 0;   ///< Readers that are not lowered yet.
  bool is_dropped = false;  ///< It was constant; nothing could read that any more.
};

/// Request to make one buffer a part of another once all is lowered; if refused, the step goes on copying.
struct PartRequest {
  BufferSlice part;
  std::size_t size_bytes;
  BufferSlice whole;
  std::size_t step;  ///< Index of the step that copies.
};

/// What was asked of PlanBuilder::may_overwrite(), and its answer.
struct Overwrite {
  BufferId buffer;
  planning::BufferLiveness::Answer answer;
};

class PlanBuilder;

/// Nodes that are computed in one step: an anchor and the element-wise nodes after it, or those of a pattern.
struct Chain {
  std::vector<std::shared_ptr<Node>> nodes;  ///< nodes[0] is the anchor; each stands behind those that it reads.
  bool (*lower)(PlanBuilder& builder, const Chain& chain) = nullptr;  ///< A pattern's own; else the anchor's.
  const std::shared_ptr<Node>& anchor() const { return nodes.front(); }
  const std::shared_ptr<Node>& last() const { return nodes.back(); }
};

class PlanBuilder {
 public:
  explicit PlanBuilder(PlanImpl& plan);

  PlanImpl& plan() { return plan_; }
  const Options& options() const { return plan_.options; }
  const dnnl::engine& engine() const { return plan_.engine; }

  Value& value(const Output<Node>& output);
  Value& input(const std::shared_ptr<Node>& node, std::size_t index) { return value(node->input_value(index)); }
  /// The constant that feeds input i; empty if it is not constant or missing.
  Tensor constant_input(const std::shared_ptr<Node>& node, std::size_t index);
  /// Integers of a constant input of any integer type. @return false when it is not constant.
  bool constant_ints(const std::shared_ptr<Node>& node, std::size_t index, std::vector<std::int64_t>& values);

  /// Place of the value packed row-major; adds a reorder if there is no such variant.
  BufferSlice plain(Value& value);
  /// A row-major variant in the type that the value lies in, for steps that only move elements.
  Value::Variant packed(Value& value);
  /// The native variant, or a variant of real numbers if the native one holds 8-bit numbers of a real value.
  Value::Variant real(Value& value);
  /// A step that writes `source` to `made` in another layout or type.
  bool lower_reorder(const std::shared_ptr<Node>& node, Value& source, Value& made, const md& desc);
  /// Place of the value in layout `desc` (same dims); adds a reorder if there is no such variant.
  BufferSlice in_layout(Value& value, const md& desc);
  /// The variant that costs nothing: the one that its step made.
  const Value::Variant& native(Value& value);

  /// A fresh buffer for the value in that layout.
  BufferSlice define(Value& value, const md& desc);
  BufferSlice define_plain(Value& value);
  /// Defines the value at `place`, which another value owns or shares: the next step writes it there...
  void define_at(Value& value, const md& desc, BufferSlice place) { define_at(value, desc, place, true); }
  /// ...or the bytes there are its elements already.
  void define_view(Value& value, const md& desc, BufferSlice place) { define_at(value, desc, place, false); }
  /// Fresh memory for the duration of one step.
  BufferSlice scratch(std::size_t size_bytes);
  BufferSlice constant_place(const Tensor& tensor);
  /// What follows from a constant alone: made once for all plans of the model, if it is one of the model's own.
  /// @param how  Says what is made of it, apart from its address.
  Tensor derived(const Tensor& constant, const std::string& how, const std::function<Tensor()>& make);
  /// Constant `tensor` reordered to `desc` at compile time; `view` describes the tensor's own layout.
  BufferSlice packed_constant(const Tensor& tensor, const md& view, const md& desc);
  /// The same numbers in another layout or type, for the next step, which computes `node`: adds a step that moves them,
  /// unless both are equal.
  BufferSlice moved(const Node& node, BufferSlice from, const md& from_desc, const md& desc);

  /// Where the bytes of `value` lie now, in every layout; a step may read any of them.
  std::vector<planning::Read> reads_of(const Value& value) const;
  /// Whether a step that reads `over`, and `others` while it writes, may write its result over it: the memory is the
  /// arena's, no step still to be lowered reads a byte of it, and the step itself reads it element by
  /// element. Call it while lowering the step. @cost amortised constant.
  bool may_overwrite(const planning::Read& over, const std::vector<planning::Read>& others = {});
  /// Over `over` if that is allowed, else in memory of its own.
  BufferSlice define_over(Value& value, const md& desc, const planning::Read& over,
                          const std::vector<planning::Read>& others = {});
  /// Declares that the bytes of both places will be the same memory (in-place concatenation).
  void may_share(BufferSlice a, BufferSlice b);
  /// Memory of a variable, of the byte that says whether it has a value, and of the value that this run assigns.
  BufferSlice state_place(std::size_t index) const { return {states_[index], 0}; }
  BufferSlice state_is_set_place(std::size_t index) const { return {states_[states_.size() / 3 + index], 0}; }
  BufferSlice state_next_place(std::size_t index) const { return {states_[states_.size() / 3 * 2 + index], 0}; }
  /// Asks that `part` be placed inside `whole` at its offset. Decided after all nodes are lowered: a step that
  /// copies is added now and dropped if the request is granted.
  void request_part(BufferSlice part, std::size_t size_bytes, BufferSlice whole, std::size_t step);

  /// The kernel that `key` describes, made now if none was made before for a plan of this model. The key must begin
  /// with key_of() and name everything that `make` depends on, but for the options.
  std::shared_ptr<const MadeKernel> kernel(const KernelKey& key, const std::function<MadeKernel()>& make) {
    return plan_.primitives->find_or_make(key, make);
  }
  static std::uint64_t key_of(dnnl::primitive::kind kind) { return static_cast<std::uint64_t>(kind); }
  /// Adds a oneDNN step for `node`; add_argument() adds its operands.
  PrimitiveStep& add_primitive(const std::shared_ptr<Node>& node, const dnnl::primitive& primitive, std::string kernel);
  void add_argument(PrimitiveStep& step, int argument, BufferSlice place, const md& desc, bool written = false);
  void add_scratchpad(PrimitiveStep& step, const md& scratchpad);
  void add_step(const std::shared_ptr<Node>& node, std::unique_ptr<Step> step, std::string kernel);
  KernelStep& add_kernel(const std::shared_ptr<Node>& node, std::string kernel, const std::vector<BufferSlice>& read,
                         const std::vector<BufferSlice>& written, KernelStep::Kernel function);
  std::size_t step_count() const { return plan_.steps.size(); }
  /// Names the chain's nodes as those that the last step computes, after its anchor...
  void note_fused(const Chain& chain);
  /// ...or after its last node, for a pattern.
  void note_joined(const Chain& chain);
  void note_optimized_out(const std::shared_ptr<Node>& node);

  /// A step by the reference kernel on packed tensors.
  void lower_reference(const std::shared_ptr<Node>& node);

  /// Channels per block that this CPU's convolutions prefer: 16, 8, or 0 for none.
  int channel_block() const { return channel_block_; }
  /// Convolutions read and write images with the channels innermost, not in blocks.
  bool prefers_channels_last() const { return images_ == Options::Images::kChannelsLast; }
  /// Blocked layout for [N, C, spatial...]; undefined when blocks are off.
  md blocked_desc(const Shape& shape, ElementType type = ElementType::kF32) const;
  /// Packed [N, C, spatial...] with its channels where `layout` says; undefined where that cannot be said.
  md image_desc(const Shape& shape, ElementType type, ChannelLayout layout) const;
  /// What f32 values of the node that is lowered now are computed in; their own type is a layout like any other.
  ElementType compute_type() const { return is_precise_ ? ElementType::kF32 : plan_.options.precision; }
  /// Whether a convolution, matrix product or attention reads the node's value, directly or through other operations.
  bool is_before_product(const Node* node) const { return before_products_.count(node) > 0; }

  /// Whether a step for attention computes the node along with others, and so takes what it reads with any strides.
  bool is_of_attention(const Node* node) const { return of_attention_.count(node) > 0; }
  void note_attention(const Node* node) { of_attention_.insert(node); }

  // -- For the walk over the model.

  /// A value for each output of these nodes; lowering functions may use no others.
  void add_values(const NodeVector& order);
  bool has_values_of(const Node* node) const { return ids_.count(node) > 0; }
  /// Memory for each of the plan's variables.
  void add_variables();
  /// Memory that the user binds to a port.
  BufferSlice add_port(BufferKind kind, std::size_t size_bytes, std::size_t index);
  /// Changes the number of readers that are still to be lowered.
  void change_uses(Value& value, int change);
  void set_before_products(std::unordered_set<const Node*> nodes) { before_products_ = std::move(nodes); }
  /// Whether the node being lowered stays in f32: see precise.hpp.
  void set_precise(bool precise) { is_precise_ = precise; }
  std::vector<PartRequest>& part_requests() { return requests_; }

  // -- For lowering again what other shapes change. Nodes that are lowered again must add as many buffers and steps as
  // before, so that those of all other nodes keep their numbers: then places in them, and what was decided about
  // them, stay true.

  /// What is lowered from now on belongs to that unit. Answers of may_overwrite() are noted in `answers`.
  void begin_unit(std::uint32_t unit, std::vector<Overwrite>* answers);
  /// The same for a unit that is lowered again; the next buffer is the first that it added before.
  /// @param answers  Those that were given then.
  void begin_again(std::uint32_t unit, const std::vector<Overwrite>& answers);
  /// @return false: other questions were asked than before.
  bool end_again() const { return !differs_ && next_answer_ == given_answers_->size(); }
  /// Takes the output's new type, shape and known value; its layouts stay.
  void renew(Value& value, const Output<Node>& output);
  /// Forgets the constants in buffers from `begin` to `end`.
  void forget_constants(std::size_t begin, std::size_t end);
  /// Whether other units than its own read that constant's buffer.
  bool is_shared_constant(std::size_t buffer) const { return shared_constants_.count(buffer) > 0; }
  planning::ValueId id_of(const Value& value) const { return static_cast<planning::ValueId>(&value - values_.data()); }
  Value& value(planning::ValueId id) { return values_[id]; }
  std::size_t value_count() const { return values_.size(); }

 private:
  void define_at(Value& value, const md& desc, BufferSlice place, bool by_next_step);
  void expand(Value& value);
  planning::ValueId id_of(const Output<Node>& output) const;
  BufferId add_buffer(BufferKind kind, std::size_t size_bytes, std::uint32_t index = 0);
  /// Adds a layout of the value, and updates which steps may still read the memory.
  void add_variant(Value& value, Value::Variant variant);
  /// Notes the layout that the last step gave the value.
  void note_moved(const Value& value);
  /// From a variant of `source` to `to`, whose 8-bit numbers mean `quantization`.
  /// The node says where the steps come from.
  void add_reorder(const Node& node, const Value& source, const Value::Variant& from, BufferSlice to, const md& desc,
                   const std::optional<Quantization>& quantization);
  void add_move(const Node& node, BufferSlice from, const md& from_desc, BufferSlice to, const md& to_desc);
  void add_affine(const Node& node, const kernels::Affine& what, BufferSlice from, BufferSlice to, std::size_t count);

  PlanImpl& plan_;
  std::unordered_map<const Node*, planning::ValueId> ids_;  ///< The node's first output; the others follow.
  std::unordered_set<const Node*> before_products_, of_attention_;
  std::vector<Value> values_;
  std::vector<std::pair<std::shared_ptr<const Node>, std::size_t>> outputs_;  // of each value
  planning::BufferLiveness buffer_liveness_;
  std::vector<PartRequest> requests_;
  std::map<const void*, BufferId> constants_;
  std::unordered_set<std::size_t> shared_constants_;
  std::vector<BufferId> states_;
  std::uint32_t unit_ = 0;
  std::size_t unit_begin_ = 0;                             ///< Its first buffer.
  std::vector<Overwrite>* answers_ = nullptr;              ///< Where to note them, if anywhere.
  const std::vector<Overwrite>* given_answers_ = nullptr;  ///< Set while a unit is lowered again.
  std::size_t next_answer_ = 0;
  bool differs_ = false;
  int channel_block_ = 0;
  bool is_precise_ = false;                            ///< Whether the node being lowered is: see precise.hpp.
  Options::Images images_ = Options::Images::kBlocks;  ///< Never kAuto.
};

}  // namespace tenon::inline v1::engine
