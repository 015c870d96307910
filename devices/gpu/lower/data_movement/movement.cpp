// SPDX-License-Identifier: Apache-2.0
// Other shapes, parts and joins of what is there. Most are views, which cost nothing; readers that want packed rows pay.
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/program/tree_source.hpp>
#include <tenon/graph/slices.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Moves a view's first element along an axis.
void advance(View& view, std::size_t axis, std::int64_t count) {
  const std::int64_t bytes = count * view.strides[axis] * static_cast<std::int64_t>(size_bytes(view.type));
  view.place.offset = static_cast<std::size_t>(static_cast<std::int64_t>(view.place.offset) + bytes);
}

/// Whether only attention reads it, perhaps with its axes in another order: it reads heads that share keys where these lie.
bool is_for_attention(const Node& node) {
  const auto readers = node.output(0).get_target_inputs();
  return std::all_of(readers.begin(), readers.end(), [](const Input<Node>& reader) {
    const Node& by = *reader.get_node();
    return is_op(&by, "ScaledDotProductAttention") || (is_op(&by, "Transpose") && is_for_attention(by));
  });
}

/// Every order of the elements that reads `from` in the order of `to`.
void set_reshaped(Builder& builder, const Node& node, const Output<Node>& source, const Shape& shape) {
  if (builder.set_reshaped(node, source, shape)) return;
  View view = builder.moved(source);
  if (!reshape(view, shape)) {
    const bool lies = !view.source || view.source->has_rows();
    if (view.repeats() && lies && !view.numbers && is_for_attention(node)) {
      auto repeated = std::make_shared<const TreeSource>(
          Expression::load(view), view.shape, TreeSource::Nodes{{node.get_friendly_name(), node.get_type_name()}});
      return builder.set(node, 0, View{{}, view.type, shape, packed_strides(shape), std::move(repeated)});
    }
    view = builder.packed(source);
    reshape(view, shape);
  }
  builder.set(node, 0, view);
}

void lower_reshape(Builder& builder, const Node& node) {
  set_reshaped(builder, node, node.input_value(0), node.get_output_shape(0));
}

void lower_transpose(Builder& builder, const Node& node) {
  std::vector<std::size_t> order;
  const std::vector<std::int64_t> given = *builder.integers(node.input_value(1));
  for (const std::int64_t axis : given) order.push_back(normalized(axis, given.size()));
  if (given.empty()) {
    order.resize(static_cast<std::size_t>(node.get_output_partial_shape(0).size()));
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
  }
  if (builder.set_transposed(node, node.input_value(0), order)) return;
  builder.set(node, 0, transposed(builder.moved(node.input_value(0)), order));
}

void lower_slice(Builder& builder, const Node& node) {
  View view = builder.moved(node.input_value(0));
  std::vector<Tensor> positions;
  for (std::size_t i = 1; i < node.get_input_size(); ++i) positions.push_back(builder.constant(node.input_value(i)));
  const std::vector<AxisSlice> slices = slices_of(node, view.shape, positions);
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    if (slices[axis].count > 0) advance(view, axis, slices[axis].start);
    view.strides[axis] *= slices[axis].step;
    view.shape[axis] = static_cast<std::size_t>(slices[axis].count);
  }
  // Axes that it drops or adds have one element.
  Extents strides;
  std::size_t from = 0;
  const Shape& shape = node.get_output_shape(0);
  for (std::size_t extent : shape) {
    while (from < view.shape.size() && view.shape[from] == 1 && extent != 1) ++from;
    const bool is_same = from < view.shape.size() && view.shape[from] == extent;
    strides.push_back(is_same ? view.strides[from] : 0);
    if (is_same) ++from;
  }
  view.shape = shape;
  view.strides = strides;
  builder.set(node, 0, view);
}

void lower_split(Builder& builder, const Node& node) {
  View view = builder.moved(node.input_value(0));
  const std::size_t axis = normalized(builder.integers(node.input_value(1))->front(), view.shape.size());
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    view.shape = node.get_output_shape(i);
    builder.set(node, i, view);
    advance(view, axis, static_cast<std::int64_t>(view.shape[axis]));
  }
}

/// A part of the output, from `begin` on along one axis.
View part_of(const View& whole, std::size_t axis, std::size_t begin, std::size_t count) {
  View part = whole;
  part.shape[axis] = count;
  advance(part, axis, static_cast<std::int64_t>(begin));
  return part;
}

/// What a CPU finds sooner by its place than it starts one kernel more, which would compute in vectors.
constexpr std::size_t kMostJoinedByCpu = 2048;

/// Leaves two parts to the one element-wise node that reads them side by side.
bool set_joined(Builder& builder, const Node& node) {
  const auto readers = node.output(0).get_target_inputs();
  if (readers.size() != 1 || node.get_input_size() > 2 || node.get_output_partial_shape(0).is_dynamic() ||
      node.get_output_element_type(0) != element::f32)
    return false;
  const Shape& shape = node.get_output_shape(0);
  const std::size_t axis = normalized(node.get_attributes().get_int("axis"), shape.size());
  const Node& reader = *readers.begin()->get_node();
  if (builder.target().is_cpu && element_count(shape) > kMostJoinedByCpu) return false;
  if (axis + 1 != shape.size() || expression_text(reader, ElementType::kF32).empty() ||
      !(reader.get_output_partial_shape(0) == PartialShape(shape)))
    return false;
  std::vector<JoinedSource::Part> parts;
  TreeSource::Nodes nodes{{node.get_friendly_name(), node.get_type_name()}};
  for (const Output<Node>& source : node.input_values()) {
    parts.push_back({builder.little(source, nodes), source.get_shape()});
    if (!parts.back().root || parts.back().shape[axis] == 0) return false;
  }
  auto joined = std::make_shared<const JoinedSource>(std::move(parts), axis, std::move(nodes));
  builder.set(node, 0, View{{}, ElementType::kF32, shape, packed_strides(shape), std::move(joined)});
  return true;
}

void lower_concat(Builder& builder, const Node& node) {
  if (set_joined(builder, node)) return;
  std::vector<std::optional<View>> parts;
  bool channels_last = false;
  for (const Output<Node>& source : node.input_values()) {
    parts.push_back(builder.waits_in_rows(source) ? std::nullopt : std::optional(builder.moved(source)));
    channels_last |= parts.back() && is_channels_last(*parts.back());
  }
  const View whole = builder.whole(node, channels_last && !(builder.target().is_cpu && builder.target().stores_f16));
  builder.set(node, 0, whole);
  const std::size_t axis = normalized(node.get_attributes().get_int("axis"), whole.shape.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Output<Node> source = node.input_value(i);
    const std::size_t count = parts[i] ? parts[i]->shape[axis] : source.get_shape()[axis];
    const View to = part_of(whole, axis, begin, count);
    begin += count;
    if (!parts[i] && builder.compute_into(source, to)) continue;
    const View part = parts[i] ? *parts[i] : builder.moved(source);
    if (!(part.place == to.place)) builder.copy(part, to, node);
  }
}

/// Explicit broadcasting names the axes of the result that the data's axes are.
void lower_broadcast(Builder& builder, const Node& node) {
  View view = builder.source(node.input_value(0));
  const Shape& shape = node.get_output_shape(0);
  if (node.get_attributes().get_string("mode") == "explicit" && node.get_input_size() > 2) {
    const std::vector<std::int64_t> axes = *builder.integers(node.input_value(2));
    View lifted = view;
    lifted.shape = shape;
    lifted.strides.resize(0);
    lifted.strides.resize(shape.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t axis = normalized(axes[i], shape.size());
      lifted.strides[axis] = view.shape[i] == 1 ? 0 : view.strides[i];
    }
    return builder.set(node, 0, lifted);
  }
  builder.set(node, 0, broadcast(view, shape));
}

/// Each axis becomes two: how often, and what; together they are the axis of the result.
void lower_tile(Builder& builder, const Node& node) {
  View view = builder.source(node.input_value(0));
  const Shape& shape = node.get_output_shape(0);
  view = broadcast(view, [&] {
    Shape lifted = shape;
    const std::size_t added = shape.size() - view.shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) lifted[axis] = axis < added ? 1 : view.shape[axis - added];
    return lifted;
  }());
  View from{view.place, view.type, {}, {}, view.source};
  const View made = builder.make(node, 0);
  View to{made.place, made.type, {}, {}};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::size_t repeats = view.shape[axis] ? shape[axis] / view.shape[axis] : 0;
    from.shape.push_back(repeats);
    from.strides.push_back(0);
    from.shape.push_back(view.shape[axis]);
    from.strides.push_back(view.strides[axis]);
    to.strides.push_back(made.strides[axis] * static_cast<std::int64_t>(view.shape[axis]));
    to.strides.push_back(made.strides[axis]);
  }
  to.shape = from.shape;
  builder.copy(from, to, node);
}

void lower_depth_to_space(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const auto block = static_cast<std::size_t>(node.get_attributes().get_int("block_size"));
  const bool blocks_first = node.get_attributes().get_string("mode") == "blocks_first";
  const std::size_t spatial = data.shape.size() - 2;
  std::size_t blocks = 1;
  for (std::size_t i = 0; i < spatial; ++i) blocks *= block;
  // [N, blocks..., C, pixels...] or [N, C, blocks..., pixels...]
  Shape apart{data.shape[0]};
  if (!blocks_first) apart.push_back(data.shape[1] / blocks);
  for (std::size_t i = 0; i < spatial; ++i) apart.push_back(block);
  if (blocks_first) apart.push_back(data.shape[1] / blocks);
  for (std::size_t i = 0; i < spatial; ++i) apart.push_back(data.shape[2 + i]);
  View view = data;
  reshape(view, apart);
  const std::size_t first_block = blocks_first ? 1 : 2;
  std::vector<std::size_t> order{0, blocks_first ? 1 + spatial : 1};
  for (std::size_t i = 0; i < spatial; ++i) {
    order.push_back(2 + spatial + i);
    order.push_back(first_block + i);
  }
  const View from = transposed(view, order), made = builder.make(node, 0);
  View to = made;
  reshape(to, from.shape);
  builder.copy(from, to, node);
}

void lower_space_to_depth(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const auto block = static_cast<std::size_t>(node.get_attributes().get_int("block_size"));
  const bool blocks_first = node.get_attributes().get_string("mode") == "blocks_first";
  const std::size_t spatial = data.shape.size() - 2;
  Shape apart{data.shape[0], data.shape[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    apart.push_back(data.shape[2 + i] / block);
    apart.push_back(block);
  }
  View view = data;
  reshape(view, apart);
  std::vector<std::size_t> order{0};
  if (!blocks_first) order.push_back(1);
  for (std::size_t i = 0; i < spatial; ++i) order.push_back(3 + 2 * i);
  if (blocks_first) order.push_back(1);
  for (std::size_t i = 0; i < spatial; ++i) order.push_back(2 + 2 * i);
  const View from = transposed(view, order), made = builder.make(node, 0);
  View to = made;
  reshape(to, from.shape);
  builder.copy(from, to, node);
}

void lower_shuffle_channels(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const std::size_t axis = normalized(node.get_attributes().get_int("axis"), data.shape.size());
  const auto groups = static_cast<std::size_t>(node.get_attributes().get_int("group"));
  Shape apart;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < data.shape.size(); ++i) {
    if (i == axis) {
      order.push_back(i + 1);
      order.push_back(i);
      apart.push_back(groups);
      apart.push_back(data.shape[i] / groups);
    } else {
      order.push_back(i > axis ? i + 1 : i);
      apart.push_back(data.shape[i]);
    }
  }
  View view = data;
  reshape(view, apart);
  const View from = transposed(view, order);
  View to = builder.make(node, 0);
  reshape(to, from.shape);
  builder.copy(from, to, node);
}

void lower_reverse(Builder& builder, const Node& node) {
  View view = builder.view(node.input_value(0));
  const std::vector<std::int64_t> list = *builder.integers(node.input_value(1));
  const bool is_mask = node.get_attributes().get_string("mode") == "mask";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_mask && list[i] == 0) continue;
    const std::size_t axis = is_mask ? i : normalized(list[i], view.shape.size());
    if (view.shape[axis] == 0) continue;
    advance(view, axis, static_cast<std::int64_t>(view.shape[axis]) - 1);
    view.strides[axis] = -view.strides[axis];
  }
  builder.set(node, 0, view);
}

/// Copies both parts of each shifted axis: 2^n boxes for n axes.
void lower_roll(Builder& builder, const Node& node) {
  const View from = builder.view(node.input_value(0)), made = builder.make(node, 0);
  const std::vector<std::int64_t> shifts = *builder.integers(node.input_value(1)),
                                  axes = *builder.integers(node.input_value(2));
  std::vector<std::int64_t> by(from.shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i)
    by[normalized(axes[i], from.shape.size())] += shifts[shifts.size() == 1 ? 0 : i];
  const auto boxes = [&](const auto& self, std::size_t axis, const View& source, const View& target) -> void {
    if (axis == from.shape.size()) return builder.copy(source, target, node);
    const auto extent = static_cast<std::int64_t>(from.shape[axis]);
    if (extent == 0) return;
    const auto shift = static_cast<std::size_t>(((by[axis] % extent) + extent) % extent);
    const std::size_t stays = static_cast<std::size_t>(extent) - shift;
    self(self, axis + 1, part_of(source, axis, 0, stays), part_of(target, axis, shift, stays));
    if (shift) self(self, axis + 1, part_of(source, axis, stays, shift), part_of(target, axis, 0, shift));
  };
  boxes(boxes, 0, from, made);
}

/// Each element of the output reads the element of the data that its place maps to, per axis.
void lower_pad(Builder& builder, const Node& node) {
  const View data = builder.view(node.input_value(0));
  const std::vector<std::int64_t> begin = *builder.integers(node.input_value(1));
  const std::string& mode = node.get_attributes().get_string("pad_mode");
  const ExpressionRef value = node.get_input_size() > 3 && mode == "constant"
                                  ? Expression::load(broadcast(builder.view(node.input_value(3)), Shape{1}))
                                  : nullptr;
  const View made = builder.make(node, 0);
  Kernel kernel = builder.kernel("pad");
  kernel.reads("X", data).writes("OUT", made);
  if (value) kernel.reads("VALUE", *value->view());
  kernel.number("COUNT", static_cast<std::int64_t>(element_count(made.shape)));
  std::string text =
      "KERNEL {\n  int rest = (int)get_global_id(0), at = 0, inside = 1;\n  if (rest >= COUNT) return;\n";
  for (std::size_t axis = made.shape.size(); axis-- > 0;) {
    const std::string i = std::to_string(axis);
    kernel.number("O" + i, static_cast<std::int64_t>(made.shape[axis]))
        .number("E" + i, static_cast<std::int64_t>(data.shape[axis]))
        .number("B" + i, begin[axis])
        .number("S" + i, data.strides[axis]);
    text += "  { int p = rest % O" + i + " - B" + i + "; rest /= O" + i + ";\n    ";
    if (mode == "constant")
      text += "if (p < 0 || p >= E" + i + ") inside = 0;";
    else if (mode == "edge")
      text += "p = clamp(p, 0, E" + i + " - 1);";
    else if (mode == "reflect")
      text += "const int w = max(2 * E" + i + " - 2, 1); p = ((p % w) + w) % w; if (p >= E" + i + ") p = w - p;";
    else
      text += "const int w = 2 * E" + i + "; p = ((p % w) + w) % w; if (p >= E" + i + ") p = w - 1 - p;";
    text += " at += p * S" + i + "; }\n";
  }
  text += std::string("  const int place = (int)get_global_id(0);\n  OUT_SET(place, inside ? X(at) : ") +
          (value ? "VALUE(0)" : "0") + ");\n}\n";
  kernel.text(text).over({element_count(made.shape)}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(std::move(kernel), node);
}

void lower_shape_of(Builder& builder, const Node& node) {
  // The shape is known here; passes have folded most of these nodes.
  const Shape& shape = node.get_input_shape(0);
  const View made = builder.make(node, 0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    View one = part_of(made, 0, i, 1);
    builder.compute(
        Expression::call(made.type, "(" + std::to_string(shape[i]) + ")", {Expression::number(made.type, 0)}), one,
        node);
  }
}

template <std::size_t... inputs>
std::string constants(const Node& node) {
  std::string why;
  ((why = why.empty() ? wants_constant(node, inputs) : why), ...);
  return why;
}

}  // namespace

void register_movement(LoweringTable& table) {
  table["Reshape"] = table["Squeeze"] = table["Unsqueeze"] = {lower_reshape};
  table["Transpose"] = {lower_transpose, constants<1>};
  table["Slice"] = table["StridedSlice"] = {lower_slice, constants<1, 2, 3, 4>};
  table["Split"] = table["VariadicSplit"] = {lower_split, constants<1, 2>};
  table["Concat"] = {lower_concat};
  table["Broadcast"] = {lower_broadcast, constants<2>};
  table["Tile"] = {lower_tile};
  table["DepthToSpace"] = {lower_depth_to_space};
  table["SpaceToDepth"] = {lower_space_to_depth};
  table["ShuffleChannels"] = {lower_shuffle_channels};
  table["Reverse"] = {lower_reverse, constants<1>};
  table["Roll"] = {lower_roll, constants<1, 2>};
  table["Pad"] = {lower_pad, constants<1, 2>};
  table["ShapeOf"] = {lower_shape_of};
}

}  // namespace tenon::inline v1::gpu_device
