// SPDX-License-Identifier: Apache-2.0
// Elements and slices by index.
#include <algorithm>
#include <string>

#include <tenon/devices/gpu/lower/axes.hpp>
#include <tenon/devices/gpu/lower/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Adds the launch: one work-item for each element of the output.
void launch_each(Builder& builder, const Node& node, Kernel& kernel, const View& out, const std::string& text) {
  const std::size_t count = element_count(out.shape);
  kernel.number("COUNT", static_cast<std::int64_t>(count));
  kernel.text("KERNEL {\n  const int at = (int)get_global_id(0);\n  if (at >= COUNT) return;\n" + text + "}\n");
  kernel.over({count}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(kernel, node);
}

/// [batch, outer, axis, inner] by [batch, indices] to [batch, outer, indices, inner]; indices outside give 0.
void lower_gather(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), indices = builder.packed(node.input_value(1));
  const std::size_t axis = normalized(builder.integers(node.input_value(2))->front(), data.shape.size());
  const std::size_t batch = normalized(node.get_attributes().get_int("batch_dims", 0), indices.shape.size() + 1);
  const std::size_t dims = node.get_attributes().get_int("batch_dims", 0) < 0 ? batch - 1 : batch;
  const View out = builder.make(node, 0);
  Kernel kernel = builder.kernel("gather");
  kernel.reads("X", data).reads("INDEX", indices).writes("OUT", out);
  kernel.number("OUTER", product(data.shape, dims, axis))
      .number("AXIS", static_cast<std::int64_t>(data.shape[axis]))
      .number("INNER", product(data.shape, axis + 1, data.shape.size()))
      .number("INDICES", product(indices.shape, dims, indices.shape.size()));
  launch_each(
      builder, node, kernel, out,
      "  const int inner = at % INNER, i = at / INNER % INDICES, outer = at / INNER / INDICES % OUTER, b = at / "
      "INNER / INDICES / OUTER;\n"
      "  int index = (int)INDEX(b * INDICES + i);\n  if (index < 0) index += AXIS;\n"
      "  OUT_SET(at, index >= 0 && index < AXIS ? X(((b * OUTER + outer) * AXIS + index) * INNER + inner) : 0);\n");
}

/// The data may be larger than the indices along the axes that stay.
void lower_gather_elements(Builder& builder, const Node& node) {
  const View data = builder.view(node.input_value(0)), indices = builder.packed(node.input_value(1));
  const std::size_t axis = normalized(node.get_attributes().get_int("axis"), data.shape.size());
  const View out = builder.make(node, 0);
  Kernel kernel = builder.kernel("gather_elements");
  kernel.reads("X", data).reads("INDEX", indices).writes("OUT", out);
  kernel.number("AXIS", static_cast<std::int64_t>(data.shape[axis]));
  std::string text = "  int rest = at, from = 0;\n";
  for (std::size_t i = data.shape.size(); i-- > 0;) {
    const std::string n = std::to_string(i);
    kernel.number("E" + n, static_cast<std::int64_t>(indices.shape[i])).number("S" + n, data.strides[i]);
    if (i != axis) text += "  from += rest % E" + n + " * S" + n + ";\n";
    text += "  rest /= E" + n + ";\n";
  }
  text +=
      "  int index = (int)INDEX(at);\n  if (index < 0) index += AXIS;\n"
      "  OUT_SET(at, index >= 0 && index < AXIS ? X(from + index * S" +
      std::to_string(axis) + ") : 0);\n";
  launch_each(builder, node, kernel, out, text);
}

}  // namespace

void register_gather(LoweringTable& table) {
  table["Gather"] = {lower_gather, [](const Node& node) { return wants_constant(node, 2); }};
  table["GatherElements"] = {lower_gather_elements};
}

}  // namespace tenon::inline v1::gpu_device
