// SPDX-License-Identifier: Apache-2.0
// ONNX: shapes and the movement of elements.
#include <limits>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// A zero copies the input's extent, unless allowzero (since 14) makes it mean zero.
OutputVector reshape_converter(const NodeContext& node) {
  const Out pattern = node.has_input(1) ? node.input(1) : ints(node.get_ints("shape"));
  return {op("Reshape", 1, {node.input(0), pattern}, {{"special_zero", node.get_int("allowzero", 0) == 0}})};
}

OutputVector transpose_converter(const NodeContext& node) {
  const Out& x = node.input(0);
  if (node.has("perm")) return {transpose(x, node.get_ints("perm"))};
  return {op("Transpose", 1, {x, ints({})})};
}

OutputVector flatten(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  std::int64_t axis = node.get_int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) fail("axis " + std::to_string(axis) + " is outside [0, " + std::to_string(rank) + "]");
  if (axis == 0) return {reshape(x, Ints{1, -1})};
  if (axis == 1) return {op("Reshape", 1, {x, ints({0, -1})}, {{"special_zero", true}})};
  if (axis == rank) return {reshape(x, Ints{-1, 1})};
  return {reshape(x, concat({product_of(x, 0, axis), product_of(x, axis, rank)}, 0))};
}

OutputVector squeeze_converter(const NodeContext& node) {
  if (node.has_input(1)) return {op("Squeeze", 1, {node.input(0), node.input(1)})};
  if (node.has("axes")) return {squeeze(node.input(0), node.get_ints("axes"))};
  return {op("Squeeze", 1, {node.input(0)})};
}

OutputVector unsqueeze_converter(const NodeContext& node) {
  return {op("Unsqueeze", 1, {node.input(0), node.has_input(1) ? node.input(1) : ints(node.get_ints("axes"))})};
}

OutputVector concat_converter(const NodeContext& node) {
  return {op("Concat", 1, node.inputs(), {{"axis", node.get_int("axis")}})};
}

OutputVector split_converter(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t axis = node.get_int("axis", 0);
  if (node.has_input(1)) {
    // There are as many lengths as outputs, even where the file does not say so.
    const Out& lengths = node.input(1);
    const bool is_known = lengths.get_partial_shape().is_static();
    const auto outputs = static_cast<std::int64_t>(node.output_count());
    return ops("VariadicSplit", 1, {x, int_scalar(axis), is_known ? lengths : reshape(lengths, Ints{outputs})});
  }
  if (node.has("split")) return ops("VariadicSplit", 1, {x, int_scalar(axis), ints(node.get_ints("split"))});
  const auto count = static_cast<std::int64_t>(node.output_count());
  const PartialShape& shape = x.get_partial_shape();
  Dimension extent;
  if (shape.rank().is_static())
    extent = shape[static_cast<std::size_t>(normalized_axis(axis, shape.rank().get_length()))];
  const bool is_even = extent.is_static() ? count > 0 && extent.get_length() % count == 0 : node.opset() < 18;
  if (is_even) return ops("Split", 1, {x, int_scalar(axis)}, {{"num_splits", count}});
  // Since 18 the last part may be smaller.
  const Out whole = extent_of(x, axis), piece = div(add(whole, int_scalar(count - 1)), int_scalar(count));
  Ints each;
  for (std::int64_t i = 0; i < count; ++i) each.push_back(i);
  const Out left = op("Maximum", 1, {sub(whole, mul(ints(each), piece)), int_scalar(0)});
  return ops("VariadicSplit", 1, {x, int_scalar(axis), op("Minimum", 1, {left, piece})});
}

OutputVector slice_converter(const NodeContext& node) {
  const Out& x = node.input(0);
  if (node.opset() < 10) {
    const Ints starts = node.get_ints("starts");
    const Out steps = ints(Ints(starts.size(), 1));
    if (node.has("axes"))
      return {op("Slice", 8, {x, ints(starts), ints(node.get_ints("ends")), steps, ints(node.get_ints("axes"))})};
    return {op("Slice", 8, {x, ints(starts), ints(node.get_ints("ends")), steps})};
  }
  const Out& starts = node.input(1);
  Out steps;
  if (node.has_input(4))
    steps = node.input(4);
  else
    steps = broadcast_to(scalar(starts.get_element_type(), 1), shape_of(starts));
  if (node.has_input(3)) return {op("Slice", 8, {x, starts, node.input(2), steps, node.input(3)})};
  return {op("Slice", 8, {x, starts, node.input(2), steps})};
}

OutputVector pad_converter(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::string mode = node.get_string("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    fail("mode \"" + mode + "\" is unknown");
  const bool by_attribute = node.opset() < 11;
  Out pads = by_attribute ? ints(node.get_ints("pads")) : node.input(1);
  pads = convert(pads, ElementType::kI64);
  Out value = scalar_like(x, node.get_float("value", 0));
  if (!by_attribute && node.has_input(2)) value = reshape(node.input(2), Ints{});
  const Out count = rank_of(x);
  Out begin, end;
  if (node.has_input(3)) {
    // Pads for some axes only: placed among zeros for the others.
    const Out axes = convert(node.input(3), ElementType::kI64);
    const Out positions = select(op("Less", 1, {axes, int_scalar(0)}), add(axes, count), axes);
    const Out zeros = broadcast_to(int_scalar(0), reshape(count, Ints{1}));
    const OutputVector halves = ops("Split", 1, {pads, int_scalar(0)}, {{"num_splits", 2}});
    begin = op("ScatterElementsUpdate", 3, {zeros, positions, halves[0], int_scalar(0)});
    end = op("ScatterElementsUpdate", 3, {zeros, positions, halves[1], int_scalar(0)});
  } else {
    const OutputVector halves = ops("Split", 1, {pads, int_scalar(0)}, {{"num_splits", 2}});
    begin = halves[0];
    end = halves[1];
  }
  if (mode == "wrap") {
    Out y = x;
    for (std::int64_t axis = 0; axis < node.rank(0); ++axis) {
      const auto of_axis = [&](const Out& values) {
        return op("Gather", 8, {values, int_scalar(axis), int_scalar(0)}, {{"batch_dims", 0}});
      };
      // Negative pads crop before the others repeat what is left, as in ONNX Runtime.
      const Out none = int_scalar(0), before = of_axis(begin), after = of_axis(end);
      const auto added = [&](const Out& pads) { return op("Maximum", 1, {pads, none}); };
      const Out cut = sub(added(before), before);
      const Out left = sub(add(extent_of(x, axis), op("Minimum", 1, {after, none})), cut);
      const Out positions =
          range(unary("Negative", added(before)), add(left, added(after)), int_scalar(1), ElementType::kI64);
      y = op("Gather", 8, {y, add(op("FloorMod", 1, {positions, left}), cut), int_scalar(axis)}, {{"batch_dims", 0}});
    }
    return {y};
  }
  // Version 12 allows negative pads, which crop.
  if (mode == "constant") return {op("Pad", 12, {x, begin, end, value}, {{"pad_mode", "constant"}})};
  return {op("Pad", 12, {x, begin, end}, {{"pad_mode", mode}})};
}

OutputVector expand(const NodeContext& node) {
  return {op("Broadcast", 3, {node.input(0), node.input(1)}, {{"mode", "bidirectional"}})};
}

OutputVector tile(const NodeContext& node) { return {op("Tile", 1, {node.input(0), node.input(1)})}; }

OutputVector shape_converter(const NodeContext& node) {
  const Out shape = shape_of(node.input(0));
  if (!node.has("start") && !node.has("end")) return {shape};
  return {slice(shape, node.get_int("start", 0), node.get_int("end", std::numeric_limits<std::int64_t>::max()), 0)};
}

OutputVector size(const NodeContext& node) { return {reduce("ReduceProd", shape_of(node.input(0)), ints({0}), false)}; }

OutputVector depth_to_space(const NodeContext& node) {
  const bool is_crd = node.get_string("mode", "DCR") == "CRD";
  return {op("DepthToSpace", 1, {node.input(0)},
             {{"mode", is_crd ? "depth_first" : "blocks_first"}, {"block_size", node.get_int("blocksize")}})};
}

OutputVector space_to_depth(const NodeContext& node) {
  const bool is_crd = node.get_string("mode", "DCR") == "CRD";
  return {op("SpaceToDepth", 1, {node.input(0)},
             {{"mode", is_crd ? "depth_first" : "blocks_first"}, {"block_size", node.get_int("blocksize")}})};
}

OutputVector reverse_sequence(const NodeContext& node) {
  return {op("ReverseSequence", 1, {node.input(0), node.input(1)},
             {{"batch_axis", node.get_int("batch_axis", 1)}, {"seq_axis", node.get_int("time_axis", 0)}})};
}

// A triangle: where row + k compares with the column.
OutputVector trilu(const NodeContext& node) {
  const Out& x = node.input(0);
  const bool upper = node.get_int("upper", 1) != 0;
  const Out k = node.has_input(1) ? convert(reshape(node.input(1), Ints{}), ElementType::kI64) : int_scalar(0);
  const Out rows = unsqueeze(range(int_scalar(0), extent_of(x, -2), int_scalar(1), ElementType::kI64), {1});
  const Out columns = unsqueeze(range(int_scalar(0), extent_of(x, -1), int_scalar(1), ElementType::kI64), {0});
  const Out kept = op(upper ? "LessEqual" : "GreaterEqual", 1, {add(rows, k), columns});
  return {select(kept, x, scalar_like(x, 0))};
}

// Crops or pads each axis around the centre.
OutputVector center_crop_pad(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  Ints axes = node.get_ints("axes", {});
  if (!node.has("axes")) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank);
  const Out wanted = convert(node.input(1), ElementType::kI64);
  const Out present = op("Gather", 8, {shape_of(x), ints(axes), int_scalar(0)}, {{"batch_dims", 0}});
  const Out zero = int_scalar(0), two = int_scalar(2);
  const auto half = [&](const Out& value) { return div(value, two); };
  const Out surplus = op("Maximum", 1, {sub(present, wanted), zero}),
            lack = op("Maximum", 1, {sub(wanted, present), zero});
  const Out start = half(surplus);
  const Out steps = ints(Ints(axes.size(), 1));
  const Out cut = op("Slice", 8, {x, start, add(start, op("Minimum", 1, {present, wanted})), steps, ints(axes)});
  const Out zeros = ints(Ints(static_cast<std::size_t>(rank), 0));
  const auto spread = [&](const Out& values) {
    return op("ScatterElementsUpdate", 3, {zeros, ints(axes), values, int_scalar(0)});
  };
  const Out before = half(lack);
  return {
      op("Pad", 12, {cut, spread(before), spread(sub(lack, before)), scalar_like(x, 0)}, {{"pad_mode", "constant"}})};
}

}  // namespace

void add_movement(ConverterTable& table) {
  table[":Reshape"] = reshape_converter;
  table[":Transpose"] = transpose_converter;
  table[":Flatten"] = flatten;
  table[":Squeeze"] = squeeze_converter;
  table[":Unsqueeze"] = unsqueeze_converter;
  table[":Concat"] = concat_converter;
  table[":Split"] = split_converter;
  table[":Slice"] = slice_converter;
  table[":Pad"] = pad_converter;
  table[":Expand"] = expand;
  table[":Tile"] = tile;
  table[":Shape"] = shape_converter;
  table[":Size"] = size;
  table[":DepthToSpace"] = depth_to_space;
  table[":SpaceToDepth"] = space_to_depth;
  table[":ReverseSequence"] = reverse_sequence;
  table[":Trilu"] = trilu;
  table["com.microsoft:Trilu"] = trilu;
  table[":CenterCropPad"] = center_crop_pad;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
