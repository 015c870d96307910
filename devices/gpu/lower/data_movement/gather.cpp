// SPDX-License-Identifier: Apache-2.0
// Elements and slices by index.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Constant indices at equal distances are a slice, which costs nothing: channels in reverse order.
std::optional<View> slice_of(Builder& builder, const Node& node) {
  const auto indices = builder.integers(node.input_value(1));
  if (node.get_input_partial_shape(0).is_dynamic()) return std::nullopt;
  const Shape& shape = node.get_input_shape(0);
  const std::size_t index_rank = node.get_input_shape(1).size();
  if (!indices || index_rank > 1 || indices->empty()) return std::nullopt;
  if (shares_bytes(node.get_input_element_type(0))) return std::nullopt;
  if (node.get_attributes().get_int("batch_dims", 0) != 0) return std::nullopt;
  const std::size_t axis = normalized(builder.integers(node.input_value(2))->front(), shape.size());
  const auto extent = static_cast<std::int64_t>(shape[axis]);
  std::vector<std::int64_t> at;
  for (const std::int64_t index : *indices) {
    if (index < -extent || index >= extent) return std::nullopt;
    at.push_back(index < 0 ? index + extent : index);
  }
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  for (std::size_t i = 1; i < at.size(); ++i)
    if (at[i] - at[i - 1] != step) return std::nullopt;
  View view = builder.source(node.input_value(0));
  const std::int64_t begin = at[0] * view.strides[axis] * static_cast<std::int64_t>(size_bytes(view.type));
  view.place.offset = static_cast<std::size_t>(static_cast<std::int64_t>(view.place.offset) + begin);
  if (index_rank == 1) {
    view.strides[axis] *= step;
    view.shape[axis] = at.size();
    return view;
  }
  // A scalar takes the axis away.
  View slice{view.place, view.type, {}, {}, view.source};
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (i == axis) continue;
    slice.shape.push_back(view.shape[i]);
    slice.strides.push_back(view.strides[i]);
  }
  return slice;
}

/// [batch, outer, axis, inner] by [batch, indices] to [batch, outer, indices, inner]; indices outside give 0.
void lower_gather(Builder& builder, const Node& node) {
  if (const auto slice = slice_of(builder, node)) return builder.set(node, 0, *slice);
  const View data = builder.packed_source(node.input_value(0)), indices = builder.packed(node.input_value(1));
  const std::size_t axis = normalized(builder.integers(node.input_value(2))->front(), data.shape.size());
  const std::size_t batch = normalized(node.get_attributes().get_int("batch_dims", 0), indices.shape.size() + 1);
  const std::size_t dims = node.get_attributes().get_int("batch_dims", 0) < 0 ? batch - 1 : batch;
  set_each(
      builder, node, "gather", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).reads("INDEX", indices);
        kernel.number("OUTER", product(data.shape, dims, axis))
            .number("AXIS", static_cast<std::int64_t>(data.shape[axis]))
            .number("INNER", product(data.shape, axis + 1, data.shape.size()))
            .number("INDICES", product(indices.shape, dims, indices.shape.size()));
      },
      "  const int inner = at % INNER, i = at / INNER % INDICES, outer = at / INNER / INDICES % OUTER, b = at / "
      "INNER / INDICES / OUTER;\n"
      "  const int index = place_of(INDEX(b * INDICES + i), AXIS);\n"
      "  STORE(index >= 0 ? X(((b * OUTER + outer) * AXIS + index) * INNER + inner) : 0, at);\n");
}

/// The data may be larger than the indices along the axes that stay.
void lower_gather_elements(Builder& builder, const Node& node) {
  const View data = builder.view(node.input_value(0)), indices = builder.packed(node.input_value(1));
  const std::size_t axis = normalized(node.get_attributes().get_int("axis"), data.shape.size());
  std::string text = "  int rest = at, from = 0;\n";
  for (std::size_t i = data.shape.size(); i-- > 0;) {
    const std::string n = std::to_string(i);
    if (i != axis) text += "  from += rest % E" + n + " * S" + n + ";\n";
    text += "  rest /= E" + n + ";\n";
  }
  text +=
      "  const int index = place_of(INDEX(at), AXIS);\n"
      "  STORE(index >= 0 ? X(from + index * S" +
      std::to_string(axis) + ") : 0, at);\n";
  set_each(
      builder, node, "gather_elements", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).reads("INDEX", indices).number("AXIS", static_cast<std::int64_t>(data.shape[axis]));
        for (std::size_t i = 0; i < data.shape.size(); ++i)
          kernel.number("E" + std::to_string(i), static_cast<std::int64_t>(indices.shape[i]))
              .number("S" + std::to_string(i), data.strides[i]);
      },
      text);
}

/// Slices at tuples of indices, per batch.
void lower_gather_nd(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), indices = builder.packed(node.input_value(1));
  const auto batch = static_cast<std::size_t>(node.get_attributes().get_int("batch_dims"));
  const std::size_t depth = indices.shape.back();
  std::string text =
      "  const int inner = at % INNER, tuple = at / INNER;\n"
      "  int from = tuple / TUPLES, is_inside = 1;\n";
  for (std::size_t i = 0; i < depth; ++i) {
    const std::string n = std::to_string(i);
    text += "  { const int index = place_of(INDEX(tuple * " + std::to_string(depth) + " + " + n + "), E" + n +
            "); is_inside &= index >= 0; from = from * E" + n + " + index; }\n";
  }
  text += "  STORE(is_inside ? X(from * INNER + inner) : 0, at);\n";
  set_each(
      builder, node, "gather_nd", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).reads("INDEX", indices);
        kernel.number("INNER", product(data.shape, batch + depth, data.shape.size()))
            .number("TUPLES", product(indices.shape, batch, indices.shape.size() - 1));
        for (std::size_t i = 0; i < depth; ++i)
          kernel.number("E" + std::to_string(i), static_cast<std::int64_t>(data.shape[batch + i]));
      },
      text);
}

}  // namespace

void register_gather(LoweringTable& table) {
  table["Gather"] = {lower_gather, [](const Node& node) { return wants_constant(node, 2); }};
  table["GatherElements"] = {lower_gather_elements};
  table["GatherND"] = {lower_gather_nd};
}

}  // namespace tenon::inline v1::gpu_device
