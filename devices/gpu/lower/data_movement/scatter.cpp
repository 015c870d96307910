// SPDX-License-Identifier: Apache-2.0
// Updates of what is there, at indices. Those that add to what is there run in order, so that results do not vary.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/graph/slices.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// The output, as a copy of the data.
View make_copy(Builder& builder, const Node& node) {
  const View data = builder.view(node.input_value(0)), out = builder.make(node, 0);
  builder.copy(data, out, node);
  return out;
}

const char* reduction_text(std::string_view mode) {
  static const std::map<std::string_view, const char*> texts = {
      {"none", "(value)"},
      {"sum", "((held) + (value))"},
      {"sub", "((held) - (value))"},
      {"prod", "((held) * (value))"},
      {"min", "tn_min(held, value)"},
      {"max", "tn_max(held, value)"},
      {"mean", "((held) + (value))"},
  };
  return texts.at(mode);
}

void lower_scatter_elements(Builder& builder, const Node& node) {
  const View indices = builder.packed(node.input_value(1)), updates = builder.packed(node.input_value(2));
  const View out = make_copy(builder, node);
  const std::size_t rank = out.shape.size(), axis = normalized(builder.integers(node.input_value(3))->front(), rank);
  const auto& attributes = node.get_attributes();
  const std::string mode = attributes.get_string("reduction", "none");
  const bool uses_initial = mode == "none" || attributes.get_bool("use_init_val", true);
  Kernel kernel = builder.kernel("scatter_lines");
  kernel.reads("INDEX", indices).reads("UPDATE", updates).updates("OUT", out);
  const std::int64_t inner = product(indices.shape, axis + 1, rank), lines = product(indices.shape, 0, axis) * inner;
  kernel.number("LINES", lines)
      .number("INNER", inner)
      .number("UPDATES", static_cast<std::int64_t>(indices.shape[axis]))
      .number("EXTENT", static_cast<std::int64_t>(out.shape[axis]))
      .number("STEP", out.strides[axis]);
  // The indices may cover less than the data along the other axes.
  std::string first = "0", rest = "(line)";
  for (std::size_t i = rank; i-- > 0;) {
    if (i == axis) continue;
    const std::string n = std::to_string(i);
    kernel.number("I" + n, static_cast<std::int64_t>(indices.shape[i])).number("S" + n, out.strides[i]);
    first += " + " + rest + " % I" + n + " * S" + n;
    rest += " / I" + n;
  }
  kernel.define("FIRST(line)", "(" + first + ")")
      .define("ACC", accumulator_name(out.type))
      .define("REDUCE(held, value)", reduction_text(mode))
      .define("USES_INITIAL", uses_initial ? 1 : 0)
      .define("IS_MEAN", mode == "mean" ? 1 : 0)
      .define("MEAN(sum, count)", info(out.type).is_real ? "((sum) / (count))" : "floor_divide(sum, count)");
  kernel.text(kernels::scatter_lines)
      .over({static_cast<std::size_t>(lines)}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(std::move(kernel), node);
}

/// Slices at tuples of indices. Plain updates run side by side; reductions in order, side by side within a slice.
void lower_scatter_nd(Builder& builder, const Node& node) {
  const View indices = builder.packed(node.input_value(1)), updates = builder.packed(node.input_value(2));
  const View out = make_copy(builder, node);
  const std::size_t depth = indices.shape.back();
  const std::int64_t inner = product(out.shape, depth, out.shape.size()),
                     tuples = product(indices.shape, 0, indices.shape.size() - 1);
  const std::string mode = node.get_attributes().get_string("reduction", "none");
  Kernel kernel = builder.kernel("scatter_nd");
  kernel.reads("INDEX", indices).reads("UPDATE", updates).updates("OUT", out);
  kernel.number("INNER", inner).number("TUPLES", tuples);
  kernel.define("ACC", accumulator_name(out.type)).define("REDUCE(held, value)", reduction_text(mode));
  std::string one = "    int to = 0, is_inside = 1;\n";
  for (std::size_t i = 0; i < depth; ++i) {
    const std::string n = std::to_string(i);
    kernel.number("E" + n, static_cast<std::int64_t>(out.shape[i]));
    one += "    { const int index = place_of(INDEX(tuple * " + std::to_string(depth) + " + " + n + "), E" + n +
           "); is_inside &= index >= 0; to = to * E" + n + " + index; }\n";
  }
  one +=
      "    to = to * INNER + k;\n    if (is_inside) OUT_SET(to, REDUCE((ACC)OUT(to), (ACC)UPDATE(tuple * INNER + "
      "k)));\n";
  if (mode == "none")
    return launch_each(builder, node, kernel, static_cast<std::size_t>(inner * tuples),
                       "  const int k = at % INNER, tuple = at / INNER;\n" + one);
  launch_each(builder, node, kernel, static_cast<std::size_t>(inner),
              "  const int k = at;\n  for (int tuple = 0; tuple < TUPLES; ++tuple) {\n" + one + "  }\n");
}

/// Updates are [outer, indices..., inner].
void lower_scatter(Builder& builder, const Node& node) {
  const View indices = builder.packed(node.input_value(1)), updates = builder.packed(node.input_value(2));
  const View out = make_copy(builder, node);
  const std::size_t axis = normalized(builder.integers(node.input_value(3))->front(), out.shape.size());
  Kernel kernel = builder.kernel("scatter");
  kernel.reads("INDEX", indices).reads("UPDATE", updates).updates("OUT", out);
  kernel.number("EXTENT", static_cast<std::int64_t>(out.shape[axis]))
      .number("INNER", product(out.shape, axis + 1, out.shape.size()))
      .number("INDICES", static_cast<std::int64_t>(element_count(indices.shape)));
  launch_each(builder, node, kernel, element_count(updates.shape),
              "  const int inner = at % INNER, i = at / INNER % INDICES, outer = at / INNER / INDICES;\n"
              "  const int index = place_of(INDEX(i), EXTENT);\n"
              "  if (index >= 0) OUT_SET((outer * EXTENT + index) * INNER + inner, UPDATE(at));\n");
}

void lower_slice_scatter(Builder& builder, const Node& node) {
  const View updates = builder.view(node.input_value(1));
  View part = make_copy(builder, node);
  std::vector<Tensor> positions;
  for (std::size_t i = 2; i < node.get_input_size(); ++i) positions.push_back(builder.constant(node.input_value(i)));
  const std::vector<AxisSlice> slices = slices_of(node, part.shape, positions);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    if (slices[axis].count > 0) offset += slices[axis].start * part.strides[axis];
    part.strides[axis] *= slices[axis].step;
    part.shape[axis] = static_cast<std::size_t>(slices[axis].count);
  }
  part.place.offset += static_cast<std::size_t>(offset) * size_bytes(part.type);
  builder.copy(updates, part, node);
}

void lower_one_hot(Builder& builder, const Node& node) {
  const View indices = builder.packed(node.input_value(0)), on = builder.view(node.input_value(2)),
             off = builder.view(node.input_value(3));
  const Shape& shape = node.get_output_shape(0);
  const std::size_t axis = normalized(node.get_attributes().get_int("axis"), shape.size());
  const bool wraps = node.get_attributes().get_string("negative_indices_mode", "ignore_negative") == "normalize";
  set_each(
      builder, node, "one_hot", on.type,
      [=](Kernel& kernel) {
        kernel.reads("INDEX", indices).reads("ON", on).reads("OFF", off);
        kernel.number("DEPTH", static_cast<std::int64_t>(shape[axis]))
            .number("INNER", product(shape, axis + 1, shape.size()));
      },
      std::string("  long index = (long)INDEX(at / INNER / DEPTH * INNER + at % INNER);\n") +
          (wraps ? "  if (index < 0) index += DEPTH;\n" : "") +
          "  STORE(index == at / INNER % DEPTH ? ON(0) : OFF(0), at);\n");
}

}  // namespace

void register_scatter(LoweringTable& table) {
  const auto axis_known = [](const Node& node) { return wants_constant(node, 3); };
  table["ScatterElementsUpdate"] = {lower_scatter_elements, axis_known};
  table["ScatterNDUpdate"] = {lower_scatter_nd};
  table["ScatterUpdate"] = {lower_scatter, axis_known};
  table["OneHot"] = {lower_one_hot};
  table["SliceScatter"] = {lower_slice_scatter, [](const Node& node) {
                             for (std::size_t i = 2; i < node.get_input_size(); ++i)
                               if (std::string why = wants_constant(node, i); !why.empty()) return why;
                             return std::string();
                           }};
}

}  // namespace tenon::inline v1::gpu_device
