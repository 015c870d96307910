// SPDX-License-Identifier: Apache-2.0
// What lowering a node needs: the values that it reads, memory for those that it makes, and launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/lower/build/choices.hpp>
#include <tenon/devices/gpu/lower/build/joins.hpp>
#include <tenon/devices/gpu/lower/build/numbers.hpp>
#include <tenon/devices/gpu/lower/build/weights.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/devices/gpu/program/pieces.hpp>
#include <tenon/devices/gpu/target.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// Rows divided by the roots of their mean squares, which products of few rows compute of what they read (kernels/matrix_rows.cl).
struct RowNorm {
  View x;                      ///< The rows, in memory, where they can be read in chunks.
  std::optional<View> gain{};  ///< What rows are multiplied by then: of x's shape, the same for all rows.
  std::string spread;          ///< What they are divided by, of their mean square `v`.
  friend bool operator==(const RowNorm&, const RowNorm&) = default;
};

struct MatrixWork;

/// A kernel that is written only when it is known what else it computes: element-wise functions of its result join it.
struct Producer {
  /// Adds the launch. @param root  What is stored: a tree with one Expression::computed(), of the producer's type.
  std::function<void(const ExpressionRef& root, const View& out)> emit;
  /// Instead of emit, of a kernel that takes its axes in pieces: `root` and `out` have these, and `axes` says which of them
  /// make each axis of the result. Reshapes and transposes of the result then cost nothing.
  std::function<void(const ExpressionRef& root, const View& out, const AxisGroups& axes)> emit_in_pieces;
  std::optional<Pieces> pieces;  ///< Once the value is not the result itself.
  bool channels_last = false;    ///< How it writes best.
  /// What it computes, if products may compute it instead.
  std::shared_ptr<const RowNorm> norm{};
  /// What a product of few rows multiplies, and a producer that computes another one of the same left side, too, whose sums
  /// are its second ones (Expression::computed()); null: it cannot.
  std::shared_ptr<const MatrixWork> work{};
  std::function<std::shared_ptr<Producer>(const Producer& other)> with_second{};
};

/// Lowers one model of known shapes, node by node.
class Builder {
 public:
  /// @param is_special  Shapes become constants of the kernels' texts: for models whose shapes do not move.
  /// @param weights  The model's, of all its plans.
  /// @param forms  The form of each input; none: all are plain.
  /// @param choosing  Its members must outlive the builder.
  Builder(const Model& model, const Target& target, PackedWeights& weights, bool is_special,
          const std::vector<InputForm>& forms, const Choosing& choosing = {});

  const Target& target() const { return target_; }
  /// Whether shapes are constants of the kernels' texts; else a text is to serve as many shapes as it can.
  bool is_special() const { return is_special_; }
  Kernel kernel(const std::string& kind) const { return Kernel(kind, is_special_); }

  /// @name What a node reads
  /// @{
  /// How values of a type lie between kernels.
  ElementType stored_type(ElementType type) const;
  /// In memory, with any strides, of the type that is stored.
  View view(const Output<Node>& value);
  /// In memory, row-major.
  View packed(const Output<Node>& value);
  /// As view() and packed(), for kernels that read NAME(i) alone, and most elements once: inputs that lie in no plain
  /// memory are not copied, and cheap functions of pictures are not computed before (View::source).
  View source(const Output<Node>& value);
  View packed_source(const Output<Node>& value);
  /// Whether it is to lie as such numbers, unless it is a port.
  bool has_numbers(const Output<Node>& value);
  /// As source(), for nodes that only move elements: 8-bit numbers stay such (View::numbers).
  View moved(const Output<Node>& value);
  /// 8-bit numbers of that meaning: as they lie, or a copy.
  View numbers(const Output<Node>& value, const planning::Quantization& meaning);
  /// What lies in memory as such numbers already.
  std::optional<View> lying_as(const Output<Node>& value, const planning::Quantization& meaning);
  /// What of the model is computed with 8-bit numbers.
  const Numbers& numbers() const { return numbers_; }
  /// Whether the node only expands weights that products read as they are stored: no kernel is its own.
  bool is_expansion(const Node& node) const { return numbers_.is_expansion(node) || few_bits_.count(&node) > 0; }
  /// Its bytes if no input changes them; empty else.
  Tensor constant(const Output<Node>& value) const;
  std::optional<std::vector<std::int64_t>> integers(const Output<Node>& value) const;
  std::optional<std::vector<double>> reals(const Output<Node>& value) const;
  /// As an operand of an element-wise function whose result has `shape`: a load, a number, or what is not computed yet.
  ExpressionRef operand(const Output<Node>& value, const Shape& shape);
  /// What a kernel other than an element-wise one reads: loads, and functions of these that are not computed yet.
  ExpressionRef tree(const Output<Node>& value);
  /// @}

  /// Whether it is not computed yet, for its one reader, and is to lie in rows.
  bool waits_in_rows(const Output<Node>& value);
  /// Computes what is not computed yet and has this reader alone into memory of the reader's, a part of a join.
  /// @return whether it did; false: it lies elsewhere, or would lie better otherwise.
  bool compute_into(const Output<Node>& value, const View& part);
  /// What each reader may compute for itself, because it is little: the elements of a view, or a few functions of them.
  /// @param nodes  Those that compute it are added. @return null: it is not such.
  ExpressionRef little(const Output<Node>& value, std::vector<std::pair<std::string, std::string>>& nodes);
  /// What a product of few rows computes itself of the left side's rows. @return null: the left side is read as it is.
  const RowNorm* row_norm(const Output<Node>& value);
  /// Forgets what is not computed yet, because the node that is being lowered computes it otherwise.
  /// @return false: it is computed, or others read it.
  bool forget(const Output<Node>& value);

  /// The memory of a Concat's result, into which its inputs may have been computed already.
  /// @param channels_last  Unless it is there.
  View whole(const Node& concat, bool channels_last);

  /// @name What it makes
  /// @{
  /// An element-wise function, computed where it is read. @param node  Its inputs are those of the tree.
  void set(const Node& node, std::size_t output, const ExpressionRef& root);
  /// What is not computed yet with other axes, if its producer can write it so; false else.
  bool set_reshaped(const Node& node, const Output<Node>& source, const Shape& shape);
  bool set_transposed(const Node& node, const Output<Node>& source, const std::vector<std::size_t>& order);
  /// Bytes that are there already: a reshape, a transpose, a slice.
  void set(const Node& node, std::size_t output, const View& view);
  /// A kernel that element-wise functions may join.
  void set(const Node& node, std::size_t output, ElementType computed, Producer producer);
  /// The same, of which `root` is the result: a tree with one Expression::computed().
  void set(const Node& node, std::size_t output, Producer producer, const ExpressionRef& root);
  /// `root` rounded to 8-bit numbers, as which it lies if it is stored.
  void set_rounded(const Node& node, const ExpressionRef& root, const planning::Quantization& meaning);
  /// Memory for the output, row-major, which the caller's launches write.
  View make(const Node& node, std::size_t output);
  /// The same of an output of which values decide an extent. @param most  Packed in what there is of it.
  View make(const Node& node, std::size_t output, const Shape& most);
  /// i32 [1]: what is written there is that extent of the node's outputs.
  View make_count(const Node& node);
  /// A table that launches read.
  View hold(const Tensor& table);
  /// Whether these bytes are there before all launches.
  bool is_constant(const View& view) const {
    return !view.source && view.place && plan_.buffers[view.place.buffer].constant;
  }
  /// i32 zeros that are the plan's alone, and that kernels leave as zeros.
  View counters(std::size_t count);
  /// What `pack` makes of a constant, once for all plans. @param how  Names it.
  View hold_packed(const Tensor& constant, const std::string& how, const std::function<Tensor(const Tensor&)>& pack) {
    return hold(weights_.get(constant, how, pack));
  }
  PackedWeights& weights() { return weights_; }
  /// Memory that lives between launches of one node.
  View scratch(ElementType type, const Shape& shape);
  void launch(Kernel kernel, const Node& node);
  /// One of several kernels that do the same: the one that was measured to be the fastest for the problem, else the first,
  /// which rules choose. @param problem  See Choices. @pre `candidates` is not empty; names differ.
  void launch_best(const Node& node, const std::string& problem, const std::vector<Candidate>& candidates);
  /// Whether measurements may decide; else it is the first candidate, and no others need to be there.
  bool chooses() const { return choosing_.known != nullptr; }
  /// Does not wait for what may join an output: the launch that makes it makes others of the node, too.
  void compute(const Node& node, std::size_t output);
  /// Computes a tree into memory, by a kernel that does nothing else. @param of  For profiles.
  void compute(const ExpressionRef& root, const View& out, const Node& of);
  /// A copy with other strides or of another type.
  void copy(const View& from, const View& to, const Node& of) { compute(Expression::load(from), to, of); }
  /// @}

  /// Gives a kernel the macro STORE(value, i0, i1...): computes the rest of the tree and writes it. One index for each
  /// group of axes.
  void add_store(Kernel& kernel, const ExpressionRef& root, const View& out, const AxisGroups& groups) const;
  /// Besides, STORE8(value, i0, i1...): an array of 8 neighbours, of which the index of the last group is the first.
  /// @pre the extent of the last axis of the last group is a multiple of 8.
  void add_wide_store(Kernel& kernel, const ExpressionRef& root, const View& out, const AxisGroups& groups) const;
  /// Besides, STORE_WIDE(value, i0, i1...): the same of a vector of `wide` f32, computed as vectors where the tree allows.
  /// @pre the last group is one axis whose extent is a multiple of `wide`.
  void add_vector_store(Kernel& kernel, const ExpressionRef& root, const View& out, const AxisGroups& groups,
                        std::size_t wide) const;
  /// Whether 8 neighbours along an axis can be read or written at once.
  bool is_wide(const View& view, std::size_t axis) const;

  /// A port, a constant, a state: called by the walk.
  void add_input(const Node& parameter, std::uint32_t index);
  void add_constant(const Node& node, const Tensor& bytes, std::size_t output = 0);
  void add_result(const Node& result, std::uint32_t index);
  /// @param next  Its next value, which is assigned; else the present one.
  View state(const std::string& id, ElementType type, const Shape& shape, bool next);

  /// After the last node. The builder may go on (lower/walk.hpp).
  LaunchPlan finish();

 private:
  friend class ModelWalk;
  struct Value {
    ElementType type = ElementType::kUndefined;
    Shape shape;
    std::optional<View> view;
    std::optional<View> plain;  ///< A copy of `view` in plain memory.
    ExpressionRef pending;      ///< Not computed yet...
    ExpressionRef
        unrounded;  ///< `pending` without its last step, which rounds it to `numbers`; null: it has no such one.
    std::optional<planning::Quantization> numbers;  ///< As which it lies in memory of the plan's own.
    std::optional<Producer> producer;
    std::vector<std::pair<std::string, std::string>> nodes;  ///< ...by these nodes: the last one first.
    /// Instead of `pending`, of what its readers compute themselves; if one of them does not, it is computed.
    struct Norm {
      RowNorm rows;
      ExpressionRef root;
      Producer producer;
      std::vector<std::pair<std::string, std::string>> nodes;
    };
    std::shared_ptr<const Norm> norm;
    Tensor constant;
    std::size_t readers = 0;
  };
  using Key = std::pair<const Node*, std::size_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return std::hash<const Node*>()(key.first) + key.second; }
  };
  using ValueRef = std::shared_ptr<Value>;
  /// What lowering one node has added and changed, where the model is lowered again with other shapes.
  struct Unit {
    std::size_t buffers = 0, launches = 0;             ///< Where its own begin.
    std::vector<std::pair<Key, ValueRef>> values;      ///< Those that it may have changed, as it left them.
    std::vector<Key> reads;                            ///< Others that it looked at.
    std::vector<std::pair<const Node*, View>> wholes;  ///< Those that it looked at.
  };

  Value& value_of(const Output<Node>& value) { return value_of(Key{value.get_node(), value.get_index()}); }
  /// To be changed by the present unit: what earlier ones left stays.
  Value& value_of(const Key& key);
  Value& new_value(const Key& key);
  /// @param move_pieces, move_view  Move the pieces and what the tree loads; false: it cannot be.
  bool set_moved(const Node& node, const Output<Node>& source, const std::function<bool(Pieces&)>& move_pieces,
                 const std::function<bool(View&)>& move_view);
  Value& add_value(const Node& node, std::size_t output, const Shape& shape);
  Value& add_value(const Node& node, std::size_t output) {
    return add_value(node, output, node.get_output_shape(output));
  }
  planning::BufferId add_buffer(planning::BufferKind kind, std::size_t size_bytes, std::uint32_t index);
  /// @param strides  How it is to lie unless it is a port.
  View make_for(const Node& node, std::size_t output, const Value& value, const Extents& strides);
  void find_growth(std::uint32_t result);
  /// Leaves the norm of rows to its readers, if all are products of few rows. @return false: they are not.
  bool leave_norm(Value& value, const Output<Node>& output);
  bool is_product_of_few_rows(const Input<Node>& reader) const;
  /// Lets the Concat behind such a result lie where the parameter does that it grows from. @return the strides of both.
  Extents grow(std::uint32_t result, const View& parameter);
  /// How a result lies: with room, if it grows.
  View as_result(std::uint32_t index, ElementType type, const Shape& shape) const;
  /// Where a Concat wants this input of its own; none if it is to lie elsewhere.
  std::optional<View> part_of_whole(const Output<Node>& value, const Extents& strides);
  /// As what computes the value writes best, or as what it reads lies.
  Extents best_strides(const Value& value) const;
  View made(const Output<Node>& value);
  View plain_copy(const View& view, const Node& of);
  static View sourced(const View& view, const InputForm& form, std::vector<planning::BufferSlice> items);
  View gathered(const View& view, const InputForm& form, const std::vector<planning::BufferSlice>& items,
                const Node& of);
  void compute(Value& value, const Output<Node>& output);
  void compute(Value& value, const Output<Node>& output, const View& view);
  /// Joins codes, one a byte, of a type whose elements share bytes.
  void pack(const View& codes, const View& out, const Node& of);
  void emit(const ExpressionRef& root, const std::optional<Producer>& producer, const View& out, const Node& of);
  static void emit(const ExpressionRef& root, const Producer& producer, const View& out);
  void add_trial(const std::string& problem, const std::vector<Candidate>& candidates);
  std::optional<std::uint32_t> result_of(const Node& node, std::size_t output) const;
  /// Whether its memory is the device's own; an application's may begin anywhere.
  bool begins_at_line(const planning::Buffer& buffer) const;

  const Model& model_;
  const Target target_;
  PackedWeights& weights_;
  const bool is_special_;
  const std::vector<InputForm> forms_;
  const Choosing choosing_;
  const Numbers numbers_;
  const std::set<const Node*> few_bits_;  ///< See few_bits_expansions().
  std::shared_ptr<KernelTexts> texts_ = std::make_shared<KernelTexts>();
  LaunchPlan plan_;
  LaunchJoins joins_;
  std::unordered_map<Key, ValueRef, KeyHash> values_;  ///< Null: not lowered yet.
  Unit* unit_ = nullptr;                               ///< Null: the model is lowered once.
  /// How many nodes with a kernel read each value; null: as the graph says.
  const std::map<Key, std::size_t>* readers_ = nullptr;
  std::set<planning::BufferId> shared_constants_;     ///< Constants that several units hold.
  std::map<Key, std::uint32_t> results_;              ///< The first result that reads each value.
  std::set<std::uint32_t> own_inputs_, own_outputs_;  ///< Ports with kOwnMemory.
  struct Grown {
    std::size_t axis = 0;
    std::optional<std::size_t> input{};  ///< The parameter that it grows from, if the plan has that.
  };
  std::map<std::uint32_t, Grown> grown_;       ///< Results with kGrows.
  std::map<const Node*, std::size_t> counts_;  ///< Outputs of the plan.
  std::unordered_map<const void*, planning::BufferId> constants_;
  std::map<std::pair<std::string, bool>, planning::BufferId> states_;
  std::map<const Node*, View> wholes_;  ///< Concats whose inputs are computed into them.
  /// What the operands of the node that is being lowered leave to it, if they are not computed yet.
  std::optional<Producer> joined_;
  ExpressionRef unrounded_;  ///< For the tree that is set next.
  Shape joined_shape_;
  std::vector<std::pair<std::string, std::string>> joined_nodes_;
  std::vector<std::pair<std::string, std::string>> launching_;  ///< Nodes of the next launch.
};

}  // namespace tenon::inline v1::gpu_device
