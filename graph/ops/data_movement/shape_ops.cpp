// SPDX-License-Identifier: Apache-2.0
// Operations on shapes: reshape, transpose, concatenate, broadcast, convert.
#include <algorithm>
#include <numeric>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// The same bytes in another shape.
void evaluate_copy(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (inputs[0].element_count() != outputs[0].element_count()) {
    fail("cannot view " + std::to_string(inputs[0].element_count()) + " elements as shape " +
         to_string(outputs[0].shape()));
  }
  if (inputs[0].element_count() == 0) return;
  if (size_bytes(inputs[0].element_type()) == 0) {
    move_tensor(inputs[0], outputs[0]);
    return;
  }
  const ByteStrides packed = packed_strides(inputs[0].element_type(), inputs[0].shape());
  move_elements(movable_size(inputs[0]), inputs[0].shape(), inputs[0].data(), inputs[0].byte_strides(),
                outputs[0].data(), packed);
}

void infer_reshape(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  const auto pattern = known_bounds(node, 1);
  if (!pattern) {
    require_rank(node, 1, 0, 1);
    return set_output(node, 0, shape_from_input(node, 1));
  }
  const bool special_zero = node.get_attributes().get_bool("special_zero");
  PartialShape out;
  std::optional<std::size_t> rest;
  for (std::size_t i = 0; i < pattern->size(); ++i) {
    const ValueBound& bound = (*pattern)[i];
    if (bound.is_known() && bound.min == -1) {
      if (rest) fail("the pattern holds -1 twice");
      rest = i;
      out.push_back(Dimension::dynamic());
    } else if (bound.is_known() && bound.min == 0 && special_zero) {
      if (data.rank().is_dynamic()) {
        out.push_back(Dimension::dynamic());
      } else {
        if (i >= data.size())
          fail("the pattern's 0 at " + std::to_string(i) + " has no axis to copy in " + data.to_string());
        out.push_back(data[i]);
      }
    } else {
      if (bound.is_known() && bound.min < -1)
        fail("the pattern holds " + std::to_string(bound.min) + "; only -1 may be negative");
      out.push_back(to_dimension(bound));
    }
  }
  // The counts determine the unknown extent; axes copied by 0 cancel even if dynamic, and even if they have no elements.
  std::int64_t in_count = 1, out_count = 1;
  bool countable = data.rank().is_static(), is_empty = false;
  const auto take = [&](std::int64_t& count, const Dimension& d) {
    if (d.is_dynamic())
      countable = false;
    else if (__builtin_mul_overflow(count, d.get_length(), &count))
      fail("shape " + data.to_string() + " or its new form overflows");
  };
  for (std::size_t i = 0; countable && i < std::max(data.size(), out.size()); ++i) {
    const bool copied =
        i < data.size() && i < out.size() && special_zero && (*pattern)[i].is_known() && (*pattern)[i].min == 0;
    is_empty |= copied && data[i] == Dimension(0);
    if (copied) continue;
    if (i < data.size()) take(in_count, data[i]);
    if (i < out.size() && rest != i) take(out_count, out[i]);
  }
  if (countable) {
    if (rest) {
      if (out_count == 0 || (is_empty && in_count % out_count != 0)) {
        if (in_count != 0 && !is_empty) fail("cannot reshape " + data.to_string() + " into a shape of no elements");
        out[*rest] = Dimension(0);
      } else {
        if (in_count % out_count != 0)
          fail("cannot reshape " + data.to_string() + ": " + std::to_string(in_count) +
               " elements are no multiple of " + std::to_string(out_count));
        out[*rest] = Dimension(in_count / out_count);
      }
    } else if (in_count != out_count && !is_empty) {
      fail("cannot reshape " + data.to_string() + " to " + out.to_string() + ": " + std::to_string(in_count) +
           " elements against " + std::to_string(out_count));
    }
  }
  set_output(node, 0, out);
}

void infer_squeeze(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  std::vector<std::size_t> axes;
  if (node.get_input_size() > 1) {
    require_integral(node, 1);
    const auto values = known_ints(node, 1);
    if (!values) return set_output(node, 0, PartialShape::dynamic());
    std::vector<std::int64_t> distinct;
    for (std::int64_t axis : *values) distinct.push_back(static_cast<std::int64_t>(normalized_axis(axis, data.size())));
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    axes = normalized_axes(distinct, data.size());
  }
  // No axes given: removes every extent of 1.
  const bool all = axes.empty(), skips = node.get_attributes().get_bool("allow_axis_skip", false);
  PartialShape out;
  for (std::size_t axis = 0; axis < data.size(); ++axis) {
    const bool named = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if ((all || (named && skips)) && data[axis].is_dynamic() && data[axis].compatible(1))
      return set_output(node, 0, PartialShape::dynamic());
    if (all ? data[axis] == Dimension(1) : named && data[axis].compatible(1)) continue;
    // Since set 15 a named axis may stay: torch.squeeze is converted so.
    if (named && !skips)
      fail("axis " + std::to_string(axis) + " of " + data.to_string() + " is not 1 and cannot be squeezed");
    out.push_back(data[axis]);
  }
  set_output(node, 0, out);
}

void infer_unsqueeze(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  const auto values = known_ints(node, 1);
  if (data.rank().is_dynamic() || !values) return set_output(node, 0, PartialShape::dynamic());
  if (values->size() > 64) fail("more than 64 axes");
  const std::size_t rank = data.size() + values->size();
  const auto axes = normalized_axes(*values, rank);
  PartialShape out;
  for (std::size_t axis = 0, next = 0, taken = 0; axis < rank; ++axis) {
    if (next < axes.size() && axes[next] == axis) {
      out.push_back(1);
      ++next;
    } else {
      out.push_back(data[taken++]);
    }
  }
  set_output(node, 0, out);
}

std::vector<std::size_t> transpose_order(const std::vector<std::int64_t>& given, std::size_t rank) {
  std::vector<std::size_t> order;
  if (given.empty()) {
    for (std::size_t axis = rank; axis-- > 0;) order.push_back(axis);
    return order;
  }
  if (given.size() != rank)
    fail("the order has " + std::to_string(given.size()) + " entries, the data rank " + std::to_string(rank));
  for (std::int64_t axis : given) order.push_back(normalized_axis(axis, rank));
  normalized_axes(given, rank);  // Throws for repeated axes.
  return order;
}
void infer_transpose(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  const auto values = known_ints(node, 1);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  if (!values) return set_output(node, 0, PartialShape::dynamic(static_cast<std::int64_t>(data.size())));
  PartialShape out;
  for (std::size_t axis : transpose_order(*values, data.size())) out.push_back(data[axis]);
  set_output(node, 0, out);
}
void evaluate_transpose(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto order = transpose_order(to_vector<std::int64_t>(inputs[1]), inputs[0].shape().size());
  if (inputs[0].element_count() == 0) return;
  ByteStrides strides;
  const std::size_t size = movable_size(inputs[0]);
  for (std::size_t axis : order) strides.push_back(inputs[0].byte_strides()[axis]);
  move_elements(size, outputs[0].shape(), inputs[0].data(), strides, outputs[0].data(), outputs[0].byte_strides());
}

void infer_concat(Node& node) {
  const element::Type type = common_type(node, 0, node.get_input_size());
  PartialShape out = PartialShape::dynamic();
  std::optional<std::size_t> axis;
  Dimension sum(0);
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    PartialShape part = node.get_input_partial_shape(i);
    if (part.rank().is_dynamic()) {
      sum = sum + Dimension::dynamic();
      continue;
    }
    if (!axis) axis = normalized_axis(node.get_attributes().get_int("axis"), part.size());
    if (out.rank().is_static() && out.size() != part.size())
      fail("input " + std::to_string(i) + " has shape " + part.to_string() + ", the ones before rank " +
           std::to_string(out.size()));
    sum = sum + part[*axis];
    part[*axis] = Dimension::dynamic();
    if (!PartialShape::merge_into(out, part))
      fail("input " + std::to_string(i) + " of shape " + node.get_input_partial_shape(i).to_string() +
           " does not fit the ones before, " + out.to_string() + ", outside axis " + std::to_string(*axis));
  }
  if (axis) out[*axis] = sum;
  node.set_output_type(0, type, out);
}
void evaluate_concat(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), shape.size());
  Shape begin(shape.size(), 0), end = shape;
  for (const Tensor& part : inputs) {
    if (part.element_count() > 0) {
      end[axis] = begin[axis] + part.shape()[axis];
      movable_size(part);
      move_tensor(part, outputs[0].slice(begin, end));
    }
    begin[axis] += part.shape()[axis];
  }
}

void infer_shape_of(Node& node) {
  const ElementType type =
      node.get_attributes().has("output_type") ? node.get_attributes().get_type("output_type") : ElementType::kI64;
  if (type != ElementType::kI32 && type != ElementType::kI64)
    fail("attribute 'output_type': expected i32 or i64, found " + std::string(name(type)));
  const Rank rank = node.get_input_partial_shape(0).rank();
  node.set_output_type(0, type, PartialShape{rank});
}
void evaluate_shape_of(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Write<std::int64_t> out(outputs[0]);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(inputs[0].shape()[i]);
  out.commit();
}

void infer_convert(Node& node) {
  node.set_output_type(0, node.get_attributes().get_type("destination_type"), node.get_input_partial_shape(0));
}
void infer_convert_like(Node& node) {
  node.set_output_type(0, node.get_input_element_type(1), node.get_input_partial_shape(0));
}
void evaluate_convert(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (inputs[0].element_type() == outputs[0].element_type()) return move_tensor(inputs[0], outputs[0]);
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    if (x.size() > 0) store_elements(outputs[0].element_type(), x.data(), x.size(), outputs[0].data());
  });
}

void infer_bit_cast(Node& node) {
  const element::Type from = node.get_input_element_type(0), to = node.get_attributes().get_type("destination_type");
  if (!from.is_dynamic() && bit_width(from) != bit_width(to))
    fail("input 0: expected a type of " + std::to_string(bit_width(to)) + " bits, as those of " + to.to_string() +
         ", found " + from.to_string());
  node.set_output_type(0, to, node.get_input_partial_shape(0));
}
void evaluate_bit_cast(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  move_tensor(inputs[0], outputs[0]);
}

/// Strides of `shape` broadcast to `target`: 0 along repeated axes; `map` gives the target axis of each axis.
void evaluate_broadcast_to(const Tensor& input, Tensor& output, const std::vector<std::size_t>& map) {
  if (output.element_count() == 0) return;
  const std::size_t size = movable_size(input);
  ByteStrides strides;
  strides.resize(output.shape().size(), 0);
  for (std::size_t axis = 0; axis < map.size(); ++axis) {
    if (input.shape()[axis] == 1) continue;
    if (input.shape()[axis] != output.shape()[map[axis]])
      fail("shape " + to_string(input.shape()) + " does not broadcast to " + to_string(output.shape()));
    strides[map[axis]] = input.byte_strides()[axis];
  }
  move_elements(size, output.shape(), input.data(), strides, output.data(), output.byte_strides());
}

void infer_broadcast(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  PartialShape target = shape_from_input(node, 1);
  std::string mode = node.get_attributes().get_string("mode");
  if (mode == "bidirectional") {
    const PartialShape both = broadcast_shapes(data, target, "numpy");
    return set_output(node, 0, both);
  }
  if (mode == "explicit") {
    if (node.get_input_size() < 3) fail("explicit mode needs the axes mapping input");
    const auto map = known_ints(node, 2);
    if (map && target.rank().is_static() && data.rank().is_static()) {
      if (map->size() != data.size())
        fail("the axes mapping has " + std::to_string(map->size()) + " entries, the data rank " +
             std::to_string(data.size()));
      std::int64_t last = -1;
      for (std::size_t i = 0; i < map->size(); ++i) {
        if ((*map)[i] <= last || (*map)[i] >= static_cast<std::int64_t>(target.size()))
          fail("the axes mapping must ascend within rank " + std::to_string(target.size()));
        last = (*map)[i];
        const Dimension& to = target[static_cast<std::size_t>(last)];
        if (!data[i].compatible(1) && !data[i].compatible(to))
          fail("axis " + std::to_string(i) + " of " + data.to_string() + " does not broadcast to " +
               target.to_string());
      }
    }
  } else if (data.rank().is_static() && target.rank().is_static()) {
    if (data.size() > target.size()) fail("shape " + data.to_string() + " does not broadcast to " + target.to_string());
    for (std::size_t i = 0; i < data.size(); ++i) {
      const Dimension& to = target[target.size() - data.size() + i];
      if (!data[i].compatible(1) && !data[i].compatible(to))
        fail("shape " + data.to_string() + " does not broadcast to " + target.to_string());
    }
  }
  set_output(node, 0, target);
}
void evaluate_broadcast(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<std::size_t> map;
  const std::size_t rank = inputs[0].shape().size(), out_rank = outputs[0].shape().size();
  if (node.get_attributes().get_string("mode") == "explicit") {
    for (std::int64_t axis : to_vector<std::int64_t>(inputs[2])) map.push_back(normalized_axis(axis, out_rank));
    if (map.size() != rank)
      fail("the axes mapping has " + std::to_string(map.size()) + " entries, the data rank " + std::to_string(rank));
  } else {
    for (std::size_t axis = 0; axis < rank; ++axis) map.push_back(out_rank - rank + axis);
  }
  evaluate_broadcast_to(inputs[0], outputs[0], map);
}

void infer_tile(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  const auto repeats = known_ints(node, 1);
  if (data.rank().is_dynamic() || !repeats) {
    const PartialShape own = node.get_input_partial_shape(1);
    const bool countable = data.rank().is_static() && own.is_static() && own.size() == 1 && own[0].get_length() <= 64;
    return set_output(node, 0,
                      countable
                          ? PartialShape::dynamic(std::max(own[0].get_length(), static_cast<std::int64_t>(data.size())))
                          : PartialShape::dynamic());
  }
  if (repeats->size() > 64) fail("more than 64 repeats");
  const std::size_t rank = std::max(data.size(), repeats->size());
  PartialShape out = PartialShape::dynamic(static_cast<std::int64_t>(rank));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Dimension extent = axis + data.size() < rank ? Dimension(1) : data[axis + data.size() - rank];
    const std::int64_t repeat = axis + repeats->size() < rank ? 1 : (*repeats)[axis + repeats->size() - rank];
    out[axis] = extent * Dimension(std::max<std::int64_t>(repeat, 0));
    if (out[axis].is_dynamic() && extent.is_static())
      fail("tiling " + data.to_string() + " " + std::to_string(repeat) + " times overflows");
  }
  set_output(node, 0, out);
}
void evaluate_tile(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  // Treated as [repeat, extent] pairs of axes: a repeat has stride 0 in the source.
  if (outputs[0].element_count() == 0) return;
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  Shape pairs;
  ByteStrides from, to;
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    const bool added = axis + in.size() < out.size();
    const std::size_t extent = added ? 1 : in[axis + in.size() - out.size()];
    const std::ptrdiff_t step = added ? 0 : inputs[0].byte_strides()[axis + in.size() - out.size()];
    pairs.push_back(out[axis] / extent);
    from.push_back(0);
    to.push_back(outputs[0].byte_strides()[axis] * static_cast<std::ptrdiff_t>(extent));
    pairs.push_back(extent);
    from.push_back(step);
    to.push_back(outputs[0].byte_strides()[axis]);
  }
  move_elements(movable_size(inputs[0]), pairs, inputs[0].data(), from, outputs[0].data(), to);
}
}  // namespace

void add_shape_rows(OperationTable& table) {
  table
      .add("Reshape", 1, 2, 2, infer_reshape, evaluate_copy,
           "The same elements in another shape; -1 is inferred, 0 copies an extent with special_zero.")
      .flag("special_zero");
  table.add("Squeeze", 1, 1, 2, infer_squeeze, evaluate_copy, "Removes axes of extent 1.");
  table.add("Squeeze", 15, 1, 2, infer_squeeze, evaluate_copy, "Removes axes of extent 1.")
      .flag("allow_axis_skip", false);
  table.add("Unsqueeze", 1, 2, 2, infer_unsqueeze, evaluate_copy, "Inserts axes of extent 1.");
  table.add("Transpose", 1, 2, 2, infer_transpose, evaluate_transpose, "Permutes axes; an empty order reverses them.");
  table.add("Concat", 1, 1, kManyInputs, infer_concat, evaluate_concat, "Joins tensors along an axis.").integer("axis");
  table.add("ShapeOf", 1, 1, 1, infer_shape_of, evaluate_shape_of, "Shape of the input as i64.");
  table.add("ShapeOf", 3, 1, 1, infer_shape_of, evaluate_shape_of, "Shape of the input.")
      .type("output_type", ElementType::kI64);
  table.add("Convert", 1, 1, 1, infer_convert, evaluate_convert, "Another element type.").type("destination_type");
  table
      .add("BitCast", 1, 1, 1, infer_bit_cast, evaluate_bit_cast,
           "The same bits as another element type of the same width.")
      .type("destination_type");
  table.add("ConvertLike", 1, 2, 2, infer_convert_like, evaluate_convert, "The element type of the second input.");
  table.add("Broadcast", 1, 2, 3, infer_broadcast, evaluate_broadcast, "Repeats to a target shape.")
      .text("mode", "numpy", {"numpy", "explicit"});
  table
      .add("Broadcast", 3, 2, 3, infer_broadcast, evaluate_broadcast,
           "Repeats to a target shape, or both to a common one.")
      .text("mode", "numpy", {"numpy", "explicit", "bidirectional"});
  table.add("Tile", 1, 2, 2, infer_tile, evaluate_tile, "Repeats whole tensors along axes.");
}

}  // namespace v1
}  // namespace tenon
