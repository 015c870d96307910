// SPDX-License-Identifier: Apache-2.0
// From nodes to steps: values and their layouts in memory, and the table of lowering functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/devices/cpu/engine/kernels/quantize.hpp>
#include <tenon/devices/cpu/engine/plan_internal.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/graph/operation.hpp>

namespace tenon::inline v1::engine {

using ValueId = std::uint32_t;

/// Where the channels of [N, C, spatial...] lie: as the shape says, in blocks of channel_block(), or innermost.
enum class ChannelLayout : std::uint8_t { kPlain, kBlocked, kChannelsLast };

/// A tensor of the graph, in one or several layouts. The type that its elements lie in is part of a layout: f32 values
/// may lie as bf16, or as 8-bit numbers when the value says what these mean.
struct Value {
  ElementType type = ElementType::kUndefined;
  Shape shape;
  struct Variant {
    Place place;
    md desc;             ///< Undefined for types and ranks that oneDNN does not know; those are always packed.
    bool plain = true;   ///< Packed row-major in the value's own type.
    bool packed = true;  ///< Packed row-major, in whatever type `desc` says.
  };
  std::vector<Variant> variants;
  std::optional<Quantization> quantization;  ///< Of 8-bit variants of a real value.
  Tensor constant;                           ///< Not empty: known at compile time.
  int remaining_uses = 0;                    ///< Readers that are not lowered yet.
};

/// Bytes that a step reads.
struct Read {
  Place place;
  std::size_t size_bytes = 0;
  /// Element i of the result is made of element i of these and is written after they are read.
  bool in_step = false;
};

/// The nodes that an anchor computes in one step: itself and the element-wise nodes after it.
struct Chain {
  std::vector<std::shared_ptr<Node>> nodes;  ///< nodes[0] is the anchor.
  const std::shared_ptr<Node>& anchor() const { return nodes.front(); }
  const std::shared_ptr<Node>& last() const { return nodes.back(); }
};

class Lowering {
 public:
  Lowering(PlanImpl& plan, const Model& model);
  /// Fills the plan's buffers and steps. @errors kDeadlineExceeded: `time` is over.
  void run(const TimeLimit& time);

  PlanImpl& plan() { return plan_; }
  const Options& options() const { return plan_.options; }
  const dnnl::engine& engine() const { return plan_.engine; }

  Value& value(const Output<Node>& output);
  Value& input(const std::shared_ptr<Node>& node, std::size_t index) { return value(node->input_value(index)); }
  /// The constant that feeds input i; empty when it is none or the input is missing.
  Tensor constant_input(const std::shared_ptr<Node>& node, std::size_t index);
  /// Integers of a constant input of any integer type. @return false when it is not constant.
  bool constant_ints(const std::shared_ptr<Node>& node, std::size_t index, std::vector<std::int64_t>& values);

  /// Place of the value packed row-major; adds a reorder when it only exists otherwise.
  Place plain(Value& value);
  /// A row-major variant in the type that the value lies in: what a step may read that only moves elements.
  Value::Variant packed(Value& value);
  /// The native variant, or where that holds 8-bit numbers of a real value: real ones.
  Value::Variant real(Value& value);
  /// A step that makes `made` out of `source` in another layout or type.
  bool lower_reorder(const std::shared_ptr<Node>& node, Value& source, Value& made, const md& desc);
  /// Place of the value in layout `desc` (same dims); adds a reorder when it does not exist so.
  Place in_layout(Value& value, const md& desc);
  /// The variant that costs nothing: the one that its step made.
  const Value::Variant& native(Value& value);

  /// A fresh buffer for the value in that layout.
  Place define(Value& value, const md& desc);
  Place define_plain(Value& value);
  /// The value lies at `place`, which another value owns or shares: the next step writes it there...
  void define_at(Value& value, const md& desc, Place place) { define_at(value, desc, place, true); }
  /// ...or the bytes there are its elements already.
  void define_view(Value& value, const md& desc, Place place) { define_at(value, desc, place, false); }
  /// Fresh memory for the duration of one step.
  Place scratch(std::size_t size_bytes);
  Place constant_place(const Tensor& tensor);
  /// Constant `tensor` reordered to `desc` at compile time; `view` describes the tensor's own layout.
  Place packed_constant(const Tensor& tensor, const md& view, const md& desc);

  /// Where the bytes of `value` lie now, in every layout: what a step may read of it.
  std::vector<Read> reads_of(const Value& value) const;
  /// A step that reads `over`, and `others` while it writes, may write its result over it: the memory is the arena's,
  /// nothing that is still to be lowered reads a byte of it, and what the step itself reads there it reads element by
  /// element. Call it while lowering the step. @cost amortised constant.
  bool may_overwrite(const Read& over, const std::vector<Read>& others = {});
  /// Over `over` when that is allowed, else in memory of its own.
  Place define_over(Value& value, const md& desc, const Read& over, const std::vector<Read>& others = {});
  /// Says that the bytes of both places will be the same memory (in-place concatenation).
  void may_share(Place a, Place b);
  /// Memory of a variable, of the byte that says whether it has a value, and of the value that it gets in this run.
  Place state_place(std::size_t index) const { return {states_[index], 0}; }
  Place state_is_set_place(std::size_t index) const { return {states_[states_.size() / 3 + index], 0}; }
  Place state_next_place(std::size_t index) const { return {states_[states_.size() / 3 * 2 + index], 0}; }
  /// Asks that `part` be placed inside `whole` at its offset. Granted or not after all nodes are lowered: a step that
  /// copies is added now and dropped when it is granted.
  void request_part(Place part, std::size_t size_bytes, Place whole, std::size_t step);

  /// Adds a oneDNN step for `node`. Every operand after `inputs` is written.
  PrimitiveStep& add_primitive(const std::shared_ptr<Node>& node, const dnnl::primitive& primitive, std::string kernel);
  void add_argument(PrimitiveStep& step, int argument, Place place, const md& desc, bool written = false);
  void add_scratchpad(PrimitiveStep& step, const md& scratchpad);
  void add_step(const std::shared_ptr<Node>& node, std::unique_ptr<Step> step, std::string kernel);
  KernelStep& add_kernel(const std::shared_ptr<Node>& node, std::string kernel, const std::vector<Place>& read,
                         const std::vector<Place>& written, KernelStep::Kernel function);
  std::size_t step_count() const { return plan_.steps.size(); }
  /// Names the nodes that the last step also computes.
  void note_fused(const Chain& chain);
  void note_optimized_out(const std::shared_ptr<Node>& node);

  /// The reference kernel on packed tensors.
  void lower_reference(const std::shared_ptr<Node>& node);
  /// What an unfused node would do.
  void lower_single(const std::shared_ptr<Node>& node);

  /// Channels per block that this CPU's convolutions like: 16, 8, or 0 for none.
  int channel_block() const { return channel_block_; }
  /// Convolutions of this type read and write images with the channels innermost, not in blocks: oneDNN's kernels for
  /// AMX take no other layout.
  bool prefers_channels_last(ElementType type) const {
    return images_ == Options::Images::kChannelsLast ||
           (images_ == Options::Images::kAuto && type == ElementType::kBf16);
  }
  /// Blocked layout for [N, C, spatial...]; undefined when blocks are off.
  md blocked_desc(const Shape& shape, ElementType type = ElementType::kF32) const;
  /// Packed [N, C, spatial...] with its channels where `layout` says; undefined where that cannot be said.
  md image_desc(const Shape& shape, ElementType type, ChannelLayout layout) const;
  /// What f32 values of the node that is lowered now are computed in; their own type is a layout like any other.
  ElementType compute_type() const { return is_precise_ ? ElementType::kF32 : plan_.options.precision; }
  /// A convolution, matrix product or attention reads the node's value, be it over other operations.
  bool is_before_product(const Node* node) const { return before_products_.count(node) > 0; }

 private:
  friend class ChainFinder;
  void define_at(Value& value, const md& desc, Place place, bool by_next_step);
  ValueId id_of(const Output<Node>& output) const;
  BufferId add_buffer(BufferKind kind, std::size_t size_bytes, std::uint32_t index = 0);
  /// Adds a layout that the value lies in, and keeps account of who may still read the memory.
  void add_variant(Value& value, Value::Variant variant);
  void change_uses(Value& value, int change);
  void count_reader(BufferId buffer, int change);
  /// True when something still to be lowered reads bytes of that range of one buffer; where many values lie, of the
  /// buffer.
  bool is_still_read(Place place, std::size_t size_bytes);
  BufferId group(BufferId buffer);
  void check_supported();
  void find_products();
  /// From a variant of `source` to `to`, whose 8-bit numbers mean `quantization`.
  void add_reorder(const Value& source, const Value::Variant& from, Place to, const md& desc,
                   const std::optional<Quantization>& quantization);
  void add_move(Place from, const md& from_desc, Place to, const md& to_desc);
  void add_affine(const kernels::Affine& what, Place from, Place to, std::size_t count);
  bool fold(const std::shared_ptr<Node>& node);
  void lower_parameter(const std::shared_ptr<Node>& node, std::size_t index);
  void lower_result(const std::shared_ptr<Node>& node, std::size_t index);
  void lower_chain(const Chain& chain);
  /// Sets what compute_type() says, and has what a precise node reads as f32.
  void begin_anchor(const std::shared_ptr<Node>& node);
  /// The node's output is its input.
  void pass_on(const std::shared_ptr<Node>& node);
  void use_inputs(const std::shared_ptr<Node>& node, int change);
  void grant_parts();

  struct PartRequest {
    Place part;
    std::size_t size_bytes;
    Place whole;
    std::size_t step;  ///< Index of the step that copies.
  };
  PlanImpl& plan_;
  const Model& model_;
  NodeVector order_;
  std::unordered_map<const Node*, ValueId> ids_;  ///< Of each node's first output; the others follow.
  std::unordered_set<const Node*> before_products_;
  std::vector<Value> values_;
  std::vector<std::pair<std::shared_ptr<const Node>, std::size_t>> outputs_;  // of each value
  struct Tenants {
    std::vector<ValueId> values;  ///< All with a layout in the buffer that is still read, and some that is not.
    std::size_t read = 0;         ///< Layouts in the buffer whose value has readers left.
    std::size_t group_read = 0;   ///< The same of all its group; of a group's first buffer.
    bool is_foreign = false;      ///< The group has memory that is not the arena's; of a group's first buffer.
  };
  std::vector<Tenants> tenants_;  // of each buffer
  std::vector<BufferId> group_;   // union-find over buffers that may become one memory
  std::vector<PartRequest> requests_;
  std::map<const void*, BufferId> constants_;
  std::vector<BufferId> states_;
  int channel_block_ = 0;
  bool is_precise_ = false;                            ///< The node that is lowered now: see precise.hpp.
  Options::Images images_ = Options::Images::kBlocks;  ///< kAuto only where the CPU has AMX.
};

/// Adds the steps that make the outputs of the chain's last node. @return false when it cannot: nothing must be added
/// then, and a fused chain is tried again as single nodes, a single node as its reference kernel.
using LowerFunction = bool (*)(Lowering& lowering, const Chain& chain);

struct LoweringEntry {
  LowerFunction lower = nullptr;
  bool is_anchor = false;  ///< Element-wise nodes after it may be fused into it.
};

/// The table: one registration per kernel family, each in its file.
using LoweringTable = std::map<std::string_view, LoweringEntry>;
const LoweringTable& lowering_table();
void register_convolution(LoweringTable& table);
void register_matmul(LoweringTable& table);
void register_pooling(LoweringTable& table);
void register_elementwise(LoweringTable& table);
void register_normalization(LoweringTable& table);
void register_movement(LoweringTable& table);
void register_gather(LoweringTable& table);
void register_resize(LoweringTable& table);
void register_reduction(LoweringTable& table);
void register_state(LoweringTable& table);
void register_attention(LoweringTable& table);
void register_input_stage(LoweringTable& table);
void register_control_flow(LoweringTable& table);
void register_recurrent(LoweringTable& table);
void register_quantization(LoweringTable& table);

/// A copy of the model with the passes run that kernels of this engine profit from.
std::shared_ptr<const Model> prepare_model(const Model& model, const Options& options, const TimeLimit& time);

// -- Descriptions
// ------------------------------------------------------------------------------------------------------------

/// oneDNN's name of the type; undef for those that it lacks.
dnnl::memory::data_type data_type(ElementType type);
/// Packed row-major; undefined (ndims 0) where oneDNN cannot describe it. Scalars have dims {1}.
md plain_desc(ElementType type, const Shape& shape);
dnnl::memory::dims to_dims(const Shape& shape);
/// The elements lie in packed row-major order, whatever the layout is called.
bool is_plain(const md& desc, const Shape& shape, ElementType type);
/// The type that a described tensor's elements have.
ElementType element_type(const md& desc);
/// Its elements fill its bytes: no padding, no gaps.
bool is_dense(const md& desc);
/// [N, C, spatial...] with the channels innermost, for 3 to 5 axes; undefined for others.
md channels_last(ElementType type, const Shape& shape);
/// The same strides and blocks for elements of another type; undefined when that cannot be said.
md retyped(const md& desc, ElementType type);
/// The elements lie in packed row-major order in the description's own type.
bool is_packed(const md& desc, const Shape& shape);
/// oneDNN fell back to its scalar code.
bool is_slow(const char* implementation);

}  // namespace tenon::inline v1::engine
