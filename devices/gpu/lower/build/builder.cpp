// SPDX-License-Identifier: Apache-2.0
// Values, memory and launches of one lowering.
#include <tenon/devices/gpu/lower/build/builder.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/cache_rows.hpp>
#include <tenon/devices/gpu/lower/build/few_bits.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>
#include <tenon/devices/gpu/program/tree_source.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/planning/growth.hpp>
#include <tenon/planning/memory_plan.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Larger trees cost registers, and their operands' memory is held longer.
constexpr std::size_t kMaxTree = 48;
constexpr std::size_t kMaxLoads = 12;
/// Functions in a tree that each reader may compute for itself.
constexpr std::size_t kFewFunctions = 4;

/// For types whose elements share bytes.
ExpressionRef code_of(const ExpressionRef& root, ElementType type) {
  return Expression::call(ElementType::kU8, code_text(type, "$0"), {convert(root, type)});
}

/// The element in the type that the graph says, whatever lies in memory.
ExpressionRef loaded(const View& view, ElementType type) { return convert(Expression::load(view), type); }

/// @errors kUnimplemented: kernels, which count elements in 32 bits, could not reach all of them.
void check_countable(const Shape& shape, const std::string& what) {
  const auto count = checked_size_bytes(ElementType::kU8, shape);
  if (!count || *count > std::size_t{std::numeric_limits<std::int32_t>::max()})
    throw Error(Code::kUnimplemented, "GPU: " + what + " has the shape " + to_string(shape) +
                                          "; kernels count in 32 bits, up to 2147483647 elements");
}

bool is_short_number(double value) { return value == 0.5 || (std::floor(value) == value && std::abs(value) <= 16); }

}  // namespace

Builder::Builder(const Model& model, const Target& target, PackedWeights& weights, bool is_special,
                 const std::vector<InputForm>& forms, const Choosing& choosing)
    : model_(model),
      target_(target),
      weights_(weights),
      is_special_(is_special),
      forms_(forms),
      choosing_(choosing),
      numbers_(target.multiplies_numbers ? Numbers(model, &weights) : Numbers()),
      few_bits_(keeps_few_bits(target) ? few_bits_expansions(model.get_ordered_ops()) : std::set<const Node*>()) {
  plan_.inputs.resize(model.get_parameters().size());
  std::uint32_t index = 0;
  for (const auto& result : model.get_results()) {
    const Output<Node> source = result->input_value(0);
    if (result->get_rt_info().count(kOwnMemory)) own_outputs_.insert(index);
    find_growth(index);
    results_.emplace(Key{source.get_node(), source.get_index()}, index++);
  }
  index = 0;
  for (const auto& parameter : model.get_parameters()) {
    if (parameter->get_rt_info().count(kOwnMemory)) own_inputs_.insert(index);
    ++index;
  }
}

Builder::Value& Builder::value_of(const Key& key) {
  ValueRef& value = values_.at(key);
  if (!unit_) return *value;
  const auto known = std::ranges::find(unit_->values, key, &std::pair<Key, ValueRef>::first);
  if (known != unit_->values.end()) return *known->second;
  value = std::make_shared<Value>(*value);
  unit_->values.emplace_back(key, value);
  return *value;
}

Builder::Value& Builder::new_value(const Key& key) {
  ValueRef& value = values_[key];
  if (!value) {
    value = std::make_shared<Value>();
    if (unit_) unit_->values.emplace_back(key, value);
  }
  return value_of(key);
}

Builder::Value& Builder::add_value(const Node& node, std::size_t output, const Shape& shape) {
  check_countable(shape, node.describe());
  Value& value = new_value({&node, output});
  value.type = node.get_output_element_type(output);
  value.shape = shape;
  if (!readers_)
    value.readers = node.count_output_readers(output);
  else if (const auto known = readers_->find({&node, output}); known != readers_->end())
    value.readers = known->second;
  if (const auto* meaning = output == 0 ? numbers_.stored(node) : nullptr) value.numbers = *meaning;
  if (!is_readable(value.type))
    throw Error(Code::kUnimplemented, "GPU: " + node.describe() + " makes " + std::string(name(value.type)) +
                                          ", which kernels neither read nor write");
  return value;
}

planning::BufferId Builder::add_buffer(planning::BufferKind kind, std::size_t size_bytes, std::uint32_t index) {
  planning::Buffer buffer;
  buffer.kind = kind;
  // Whole lines, so that plan_memory() keeps every offset aligned as the device wants it.
  buffer.size_bytes = (size_bytes + target_.alignment - 1) / target_.alignment * target_.alignment;
  buffer.index = index;
  plan_.buffers.push_back(std::move(buffer));
  return static_cast<planning::BufferId>(plan_.buffers.size() - 1);
}

std::optional<std::uint32_t> Builder::result_of(const Node& node, std::size_t output) const {
  const auto found = results_.find({&node, output});
  if (found == results_.end()) return std::nullopt;
  return found->second;
}

View Builder::counters(std::size_t count) {
  const Shape shape{count};
  if (plan_.counters == planning::kNoBuffer) plan_.counters = add_buffer(planning::BufferKind::kConstant, 0, 0);
  std::size_t& size = plan_.buffers[plan_.counters].size_bytes;
  size = std::max(size, bytes_of(ElementType::kI32, shape));
  return {{plan_.counters, 0}, ElementType::kI32, shape, packed_strides(shape)};
}

void Builder::find_growth(std::uint32_t index) {
  const auto axis_of = [](const Node& port) -> std::optional<std::size_t> {
    const auto found = port.get_rt_info().find(kGrows);
    if (found == port.get_rt_info().end()) return std::nullopt;
    return static_cast<std::size_t>(found->second.as<std::int64_t>());
  };
  const Node& result = *model_.get_results()[index];
  const auto axis = axis_of(result);
  if (!axis) return;
  Grown& grown = grown_[index];
  grown.axis = *axis;
  const Node& concat = *result.get_input_node_ptr(0);
  if (!is_op(&concat, "Concat") ||
      normalized(concat.get_attributes().get_int("axis"), concat.get_output_shape(0).size()) != *axis)
    return;
  const Node* const before = concat.get_input_node_ptr(0);
  const auto& parameters = model_.get_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].get() == before && axis_of(*before) == axis) grown.input = i;
}

View Builder::as_result(std::uint32_t index, ElementType type, const Shape& shape) const {
  Shape room = shape;
  if (const auto grown = grown_.find(index); grown != grown_.end())
    room[grown->second.axis] = planning::room_for(room[grown->second.axis]);
  return {{}, type, shape, packed_strides(room)};
}

View Builder::whole(const Node& concat, bool channels_last) {
  auto known = wholes_.find(&concat);
  if (known == wholes_.end()) {
    Value value;
    value.type = concat.get_output_element_type(0);
    value.shape = concat.get_output_shape(0);
    if (const auto* meaning = numbers_.stored(concat)) value.numbers = *meaning;
    const Extents strides = channels_last ? channels_last_strides(value.shape) : packed_strides(value.shape);
    known = wholes_.emplace(&concat, make_for(concat, 0, value, strides)).first;
  }
  if (unit_) unit_->wholes.emplace_back(&concat, known->second);
  return known->second;
}

std::optional<View> Builder::part_of_whole(const Output<Node>& output, const Extents& strides) {
  // A count that kernels find out has a bound instead of a shape, and is no picture.
  if (output.get_partial_shape().is_dynamic() ||
      !is_channels_last({{}, ElementType::kF16, output.get_shape(), strides}))
    return std::nullopt;
  for (const Input<Node>& reader : output.get_target_inputs()) {
    const Node& concat = *reader.get_node();
    const std::int64_t axis = is_op(&concat, "Concat") ? concat.get_attributes().get_int("axis") : 0;
    if (axis != 1 || concat.get_output_partial_shape(0).is_dynamic() ||
        concat.get_output_element_type(0) != element::f32)
      continue;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < reader.get_index(); ++i) begin += concat.get_input_shape(i)[1];
    const View all = whole(concat, true);
    if (!is_wide(all, 1) || begin % 8 != 0) continue;
    View part = all;
    part.shape[1] = output.get_shape()[1];
    part.place.offset += begin * size_bytes(all.type);
    return part;
  }
  return std::nullopt;
}

View Builder::make_for(const Node& node, std::size_t output, const Value& value, const Extents& strides) {
  const auto result = result_of(node, output);
  View view = result ? as_result(*result, value.type, value.shape)
                     : View{{}, value.type, value.shape, packed_strides(value.shape)};
  if (!result) {
    if (const auto part = part_of_whole(Output<Node>(const_cast<Node*>(&node), output), strides)) return *part;
    view.type = value.numbers ? value.numbers->type : stored_type(value.type);
    view.numbers = value.numbers;
    view.strides = strides;
  }
  const std::size_t bytes = bytes_of(view.type, view.shape);
  view.place.buffer = result ? add_buffer(planning::BufferKind::kOutput, bytes, *result)
                             : add_buffer(planning::BufferKind::kArena, bytes, 0);
  return view;
}

View Builder::make(const Node& node, std::size_t output) {
  Value& value = add_value(node, output);
  if (const auto result = result_of(node, output); result && grown_.count(*result) > 0)
    return *(value.view = scratch(value.type, value.shape));  // Row-major: it is copied to where there is room.
  value.view = make_for(node, output, value, packed_strides(value.shape));
  return *value.view;
}

View Builder::make(const Node& node, std::size_t output, const Shape& most) {
  Value& value = add_value(node, output, most);
  value.view = make_for(node, output, value, packed_strides(value.shape));
  return *value.view;
}

View Builder::make_count(const Node& node) {
  const std::size_t index = model_.get_results().size() + counts_.size();
  counts_[&node] = index;
  const View view{
      {add_buffer(planning::BufferKind::kOutput, sizeof(std::int32_t), static_cast<std::uint32_t>(index)), 0},
      ElementType::kI32,
      {1},
      packed_strides({1})};
  return view;
}

View Builder::scratch(ElementType type, const Shape& shape) {
  check_countable(shape, "a value between kernels");
  View view{{}, type, shape, packed_strides(shape)};
  view.place.buffer = add_buffer(planning::BufferKind::kArena, bytes_of(type, shape), 0);
  return view;
}

void Builder::set(const Node& node, std::size_t output, const View& view) { add_value(node, output).view = view; }

void Builder::set(const Node& node, std::size_t output, const ExpressionRef& root) {
  Value& value = add_value(node, output);
  value.pending = convert(root, value.type);
  value.producer = std::exchange(joined_, std::nullopt);
  value.nodes = std::exchange(joined_nodes_, {});
  value.nodes.insert(value.nodes.begin(), {node.get_friendly_name(), node.get_type_name()});
  value.unrounded = std::exchange(unrounded_, nullptr);
  if (leave_norm(value, Output<Node>(const_cast<Node*>(&node), output))) return;
  const bool waits = value.readers == 1 && root->size() <= kMaxTree && root->loads() <= kMaxLoads;
  if (!waits) compute(value, Output<Node>(const_cast<Node*>(&node), output));
}

bool Builder::set_moved(const Node& node, const Output<Node>& source, const std::function<bool(Pieces&)>& move_pieces,
                        const std::function<bool(View&)>& move_view) {
  Value& value = value_of(source);
  if (!value.pending || !value.producer || !value.producer->emit_in_pieces) return false;
  Pieces pieces = value.producer->pieces.value_or(Pieces(value.shape));
  if (!move_pieces(pieces)) return false;
  const ExpressionRef root = with_views(value.pending, move_view);
  if (!root) return false;
  joined_ = std::exchange(value.producer, std::nullopt);
  joined_->pieces = std::move(pieces);
  joined_nodes_ = std::exchange(value.nodes, {});
  value.pending = nullptr;
  set(node, 0, root);
  return true;
}

bool Builder::set_reshaped(const Node& node, const Output<Node>& source, const Shape& shape) {
  return set_moved(
      node, source, [&](Pieces& pieces) { return pieces.reshape(shape); },
      [&](View& view) { return reshape(view, shape); });
}

bool Builder::set_transposed(const Node& node, const Output<Node>& source, const std::vector<std::size_t>& order) {
  return set_moved(
      node, source, [&](Pieces& pieces) { return pieces.transpose(order); },
      [&](View& view) {
        view = transposed(view, order);
        return true;
      });
}

void Builder::set(const Node& node, std::size_t output, ElementType computed, Producer producer) {
  set(node, output, std::move(producer), Expression::computed(computed));
}

void Builder::set(const Node& node, std::size_t output, Producer producer, const ExpressionRef& root) {
  joined_ = std::move(producer);
  set(node, output, root);
}

void Builder::compute(Value& value, const Output<Node>& output) {
  compute(value, output, make_for(*output.get_node(), output.get_index(), value, best_strides(value)));
}

void Builder::compute(Value& value, const Output<Node>& output, const View& view) {
  launching_ = std::move(value.nodes);
  ExpressionRef root = std::exchange(value.pending, nullptr);
  // Stores round.
  if (value.unrounded && view.numbers == value.numbers && view.numbers) root = value.unrounded;
  value.unrounded = nullptr;
  const auto producer = std::exchange(value.producer, std::nullopt);
  emit(root, producer, view, *output.get_node());
  value.view = view;
}

bool Builder::waits_in_rows(const Output<Node>& output) {
  const Value& value = value_of(output);
  return value.pending && value.readers == 1 && !value.numbers && !shares_bytes(value.type) &&
         output.get_partial_shape().is_static() && View{{}, value.type, value.shape, best_strides(value)}.is_packed();
}

bool Builder::compute_into(const Output<Node>& output, const View& part) {
  if (part.numbers || !waits_in_rows(output)) return false;
  compute(value_of(output), output, part);
  return true;
}

ExpressionRef Builder::little(const Output<Node>& output, std::vector<std::pair<std::string, std::string>>& nodes) {
  const Value& value = value_of(output);
  const auto is_plain = [](const View& view) { return !view.source && !view.numbers; };
  if (value.view || value.constant) return is_plain(made(output)) ? loaded(made(output), value.type) : nullptr;
  const auto loads = loads_of(value.pending);
  if (value.producer || value.numbers || value.pending->size() > kFewFunctions || loads.size() != 1) return nullptr;
  if (!is_plain(*loads.front()->view())) return nullptr;
  nodes.insert(nodes.end(), value.nodes.begin(), value.nodes.end());
  return value.pending;
}

bool Builder::forget(const Output<Node>& output) {
  Value& value = value_of(output);
  if (!value.pending || value.readers != 1) return false;
  joined_nodes_.insert(joined_nodes_.end(), value.nodes.begin(), value.nodes.end());
  value.pending = nullptr;
  value.producer.reset();
  return true;
}

Extents Builder::best_strides(const Value& value) const {
  if ((target_.is_cpu && target_.stores_f16) || value.shape.size() < 3) return packed_strides(value.shape);
  if (value.producer)
    return value.producer->channels_last ? channels_last_strides(value.shape) : packed_strides(value.shape);
  for (const ExpressionRef& load : loads_of(value.pending))
    if (const View& view = *load->view(); view.shape == value.shape && !view.repeats()) return packed_as(view);
  return packed_strides(value.shape);
}

void Builder::emit(const ExpressionRef& root, const std::optional<Producer>& producer, const View& out,
                   const Node& of) {
  if (!producer) return compute(root, out, of);
  if (!shares_bytes(out.type)) return emit(root, *producer, out);
  const View codes = scratch(ElementType::kU8, out.shape);
  emit(code_of(root, out.type), *producer, codes);
  pack(codes, out, of);
}

void Builder::emit(const ExpressionRef& root, const Producer& producer, const View& out) {
  if (!producer.emit_in_pieces) return producer.emit(root, out);
  if (!producer.pieces) {
    AxisGroups axes;
    for (std::size_t axis = 0; axis < out.shape.size(); ++axis) axes.push_back({axis});
    return producer.emit_in_pieces(root, out, axes);
  }
  // Axes are only split: every view can be.
  const Shape& extents = producer.pieces->extents();
  View whole = out;
  reshape(whole, extents);
  producer.emit_in_pieces(with_views(root, [&](View& view) { return reshape(view, extents); }), whole,
                          producer.pieces->made());
}

void Builder::pack(const View& codes, const View& out, const Node& of) {
  const auto per_byte = static_cast<std::int64_t>(8 / info(out.type).bits);
  const std::size_t count = element_count(out.shape), bytes = bytes_of(out.type, out.shape);
  Kernel kernel = this->kernel("pack");
  kernel.reads("X", codes).writes("OUT", out);
  kernel.number("COUNT", static_cast<std::int64_t>(count)).number("BYTES", static_cast<std::int64_t>(bytes));
  kernel.define("PER_BYTE", per_byte).define("SHIFT(i)", out.type == ElementType::kU1 ? "(7 - (i))" : "((i)*4)");
  kernel.text(
      "KERNEL {\n  const int at = (int)get_global_id(0);\n  if (at >= BYTES) return;\n  int byte = 0;\n"
      "  for (int i = 0; i < PER_BYTE && at * PER_BYTE + i < COUNT; ++i) byte |= X(at * PER_BYTE + i) << SHIFT(i);\n"
      "  OUT_p[at] = (uchar)byte;\n}\n");
  kernel.over({bytes});
  launch(std::move(kernel), of);
}

void Builder::compute(const Node& node, std::size_t output) { made(Output<Node>(const_cast<Node*>(&node), output)); }

View Builder::hold(const Tensor& table) {
  check_countable(table.shape(), "a constant");
  const void* const bytes = table.data();
  auto known = constants_.find(bytes);
  if (known == constants_.end()) {
    const auto id = add_buffer(planning::BufferKind::kConstant, table.size_bytes(), 0);
    plan_.buffers[id].constant = table;
    known = constants_.emplace(bytes, id).first;
  } else if (unit_ && known->second < unit_->buffers) {
    shared_constants_.insert(known->second);
  }
  return {{known->second, 0}, table.element_type(), table.shape(), packed_strides(table.shape())};
}

View Builder::made(const Output<Node>& output) {
  Value& value = value_of(output);
  if (!value.view && value.constant) value.view = hold(value.constant);
  if (const auto norm = std::exchange(value.norm, nullptr)) {
    value.pending = norm->root;
    value.producer = norm->producer;
    value.nodes = norm->nodes;
  }
  if (!value.view) compute(value, output);
  return *value.view;
}

View Builder::view(const Output<Node>& output) {
  const View view = made(output);
  if (!view.source && !view.numbers) return view;
  Value& value = value_of(output);
  if (!value.plain) value.plain = plain_copy(view, *output.get_node());
  return *value.plain;
}

View Builder::plain_copy(const View& view, const Node& of) {
  View whole = scratch(stored_type(view.value_type()), view.shape);
  if (view.numbers && !view.repeats()) whole.strides = packed_as(view);
  if (target_.stores_f16 && is_channels_last(view)) whole.strides = channels_last_strides(view.shape);
  launching_ = {{of.get_friendly_name(), of.get_type_name()}};
  copy(view, whole, of);
  if (view.source && view.source->is_input()) plan_.gathered_bytes += bytes_of(view.type, view.shape);
  return whole;
}

View Builder::source(const Output<Node>& output) {
  Value& value = value_of(output);
  if (value.pending && !value.producer && TreeSource::is_cheap(*value.pending)) {
    auto nodes = std::exchange(value.nodes, {});
    value.view = View{{}, value.type, value.shape, packed_strides(value.shape)};
    value.view->source =
        std::make_shared<const TreeSource>(std::exchange(value.pending, nullptr), value.shape, std::move(nodes));
  }
  const View view = made(output);
  return view.numbers ? this->view(output) : view;
}

View Builder::packed_source(const Output<Node>& value) {
  const View view = source(value);
  return view.source && view.is_packed() ? view : packed(value);
}

View Builder::packed(const Output<Node>& value) {
  const View view = this->view(value);
  if (view.is_packed()) return {view.place, view.type, view.shape, packed_strides(view.shape)};
  const View copy = scratch(view.type, view.shape);
  launching_ = {{value.get_node()->get_friendly_name(), value.get_node()->get_type_name()}};
  this->copy(view, copy, *value.get_node());
  return copy;
}

Tensor Builder::constant(const Output<Node>& value) const {
  const Key key{value.get_node(), value.get_index()};
  if (const auto found = values_.find(key); found != values_.end() && found->second) {
    if (unit_) unit_->reads.push_back(key);
    if (found->second->constant) return found->second->constant;
  }
  if (const auto known = value.get_tensor().value()) return *known;
  // What is not lowered yet, too: it may decide how something before it is.
  if (is_stored_in_halves(*value.get_node(), target_)) return constant(value.get_node()->input_value(0));
  return {};
}

namespace {

template <typename T>
std::vector<T> numbers_of(const Tensor& tensor) {
  return op::v0::Constant(tensor).cast_vector<T>();
}

}  // namespace

std::optional<std::vector<std::int64_t>> Builder::integers(const Output<Node>& value) const {
  const Tensor known = constant(value);
  if (!known) return std::nullopt;
  return numbers_of<std::int64_t>(known);
}
std::optional<std::vector<double>> Builder::reals(const Output<Node>& value) const {
  const Tensor known = constant(value);
  if (!known) return std::nullopt;
  return numbers_of<double>(known);
}

ElementType Builder::stored_type(ElementType type) const { return type == ElementType::kF32 ? target_.reals() : type; }

ExpressionRef Builder::tree(const Output<Node>& output) {
  Value& value = value_of(output);
  if (value.pending && !value.producer) {
    joined_nodes_.insert(joined_nodes_.end(), value.nodes.begin(), value.nodes.end());
    return std::exchange(value.pending, nullptr);
  }
  return loaded(made(output), value.type);
}

ExpressionRef Builder::operand(const Output<Node>& output, const Shape& shape) {
  Value& value = value_of(output);
  if (value.constant && element_count(value.shape) == 1) {
    const double number = numbers_of<double>(value.constant).front();
    if (is_short_number(number)) return Expression::number(value.type, number);
  }
  if (value.pending && value.shape == shape && !(value.producer && joined_)) {
    if (value.producer) joined_ = std::exchange(value.producer, std::nullopt);
    joined_nodes_.insert(joined_nodes_.end(), value.nodes.begin(), value.nodes.end());
    return std::exchange(value.pending, nullptr);
  }
  if (value.pending && value.shape == shape && !value.producer->pieces && joined_->with_second && !joined_->pieces) {
    if (const auto both = joined_->with_second(*value.producer)) {
      joined_ = *both;
      value.producer.reset();
      joined_nodes_.insert(joined_nodes_.end(), value.nodes.begin(), value.nodes.end());
      return of_second(std::exchange(value.pending, nullptr));
    }
  }
  return loaded(broadcast(made(output), shape), value.type);
}

namespace {

/// As what elements are moved that become nothing else: their bits, which are not converted on the way; null: as they are read.
const char* bits_of(const Expression& stored, const View& out) {
  const View* const from = stored.view();
  if (!from || from->source || from->type != out.type) return nullptr;
  if (out.type == ElementType::kF16 || out.type == ElementType::kBf16) return "ushort";
  return out.type == ElementType::kI32 ? "uint" : nullptr;
}

/// How many neighbours of f32, or that are moved, a work-item of a CPU computes at once, as a vector.
/// @param views  What is written, then what is read. @param bits  As bits_of().
std::size_t lanes_of(const Walk& walk, const Expression& stored, const std::vector<const View*>& views,
                     const char* bits) {
  if (walk.extents.empty() || (!bits && (views[0]->type != ElementType::kF32 || !is_lane_wise(stored)))) return 1;
  const std::size_t last = walk.extents.size() - 1;
  for (std::size_t i = 0; i < views.size(); ++i)
    if (views[i]->source || (walk.strides[i][last] != 1 && (i == 0 || bits || walk.strides[i][last] != 0))) return 1;
  return walk.extents[last] % 16 == 0 ? 16 : walk.extents[last] % 8 == 0 ? 8 : 1;
}

}  // namespace

void Builder::compute(const ExpressionRef& root, const View& out, const Node& of) {
  if (shares_bytes(out.type)) {
    const View codes = scratch(ElementType::kU8, out.shape);
    compute(code_of(root, out.type), codes, of);
    return pack(codes, out, of);
  }
  const ExpressionRef stored = as_stored(root, out.value_type());
  const std::vector<ExpressionRef> loads = loads_of(stored);
  std::vector<const View*> views{&out};
  for (const auto& load : loads) views.push_back(load->view());
  // Neighbouring work-items write neighbours.
  Walk walk = collapse(out.shape, views, axes_by_stride(out));
  const char* const bits = bits_of(*stored, out);
  const std::size_t lanes = target_.is_cpu ? lanes_of(walk, *stored, views, bits) : 1;
  const std::string wide = lanes > 1 ? std::to_string(lanes) : "";
  if (lanes > 1) {
    walk.extents[walk.extents.size() - 1] /= static_cast<std::int64_t>(lanes);
    for (Extents& strides : walk.strides) strides[strides.size() - 1] *= static_cast<std::int64_t>(lanes);
  }
  Kernel kernel = this->kernel("map");
  for (std::size_t i = 0; i < loads.size(); ++i) kernel.reads("X" + std::to_string(i), *loads[i]->view());
  kernel.writes("OUT", out);
  const std::size_t count = element_count(out.shape) / lanes;
  kernel.number("COUNT", static_cast<std::int64_t>(count));
  const Coordinates at = take_apart(kernel, walk, "i", "at");
  const std::string target = index_text(kernel, "OUT", walk.strides[0], at.names);
  const Statements body = statements(
      stored,
      [&](std::size_t i) {
        const std::string name = "X" + std::to_string(i);
        const Extents& strides = walk.strides[i + 1];
        const std::string place = index_text(kernel, name, strides, at.names);
        if (lanes == 1) return name + "(" + place + ")";
        return strides[strides.size() - 1] == 0 ? "(float" + wide + ")(" + name + "(" + place + "))"
                                                : "vload" + wide + "(0, " + name + "_p + " + place + ")";
      },
      "0", wide);
  std::string store = lanes == 1 ? "OUT_SET(" + target + ", " + body.value + ")"
                                 : "vstore" + wide + "(" + body.value + ", 0, OUT_p + " + target + ")";
  if (bits) {
    const std::string to = std::string("(__global ") + bits + "*)OUT_p + (" + target + ")",
                      from = std::string("(__global const ") + bits + "*)X0_p + (" +
                             index_text(kernel, "X0", walk.strides[1], at.names) + ")";
    store = lanes == 1 ? "*(" + to + ") = *(" + from + ")"
                       : "vstore" + wide + "(vload" + wide + "(0, " + from + "), 0, " + to + ")";
  }
  const std::size_t group = std::min<std::size_t>(target_.max_group, target_.is_cpu ? 64 : 128);
  kernel.define("LANES", static_cast<std::int64_t>(group)).group();
  kernel.text("KERNEL {\n  const int at = GROUP * LANES + (int)get_local_id(0);\n  if (at >= COUNT) return;\n  " +
              at.lines + "\n  " + (bits ? "" : body.lines) + "\n  " + store + ";\n}\n");
  kernel.over({count}, {group});
  launch(std::move(kernel), of);
}

}  // namespace tenon::inline v1::gpu_device
