// SPDX-License-Identifier: Apache-2.0
// Numbers that no data is needed for, where there are too many of them to be folded.
#include <string>

#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// In whole numbers if the output's type is one: real inputs are cut before.
void lower_range(Builder& builder, const Node& node) {
  const View start = builder.view(node.input_value(0)), step = builder.view(node.input_value(2));
  const ElementType type = node.get_output_element_type(0);
  const bool is_real = info(type).is_real;
  const std::string read = is_real ? "" : "(long)";
  set_each(
      builder, node, "range", type, [=](Kernel& kernel) { kernel.reads("START", start).reads("BY", step); },
      "  STORE(" + read + "START(0) + at * " + read + "BY(0), at);\n");
}

void lower_eye(Builder& builder, const Node& node) {
  const View shift = builder.view(node.input_value(2));
  const Shape& shape = node.get_output_shape(0);
  set_each(
      builder, node, "eye", node.get_output_element_type(0),
      [=](Kernel& kernel) {
        kernel.reads("SHIFT", shift)
            .number("ROWS", static_cast<std::int64_t>(shape[shape.size() - 2]))
            .number("COLUMNS", static_cast<std::int64_t>(shape.back()));
      },
      "  STORE(at % COLUMNS - at / COLUMNS % ROWS == SHIFT(0), at);\n");
}

}  // namespace

void register_generation(LoweringTable& table) {
  table["Range"] = {lower_range};
  table["Eye"] = {lower_eye};
}

}  // namespace tenon::inline v1::gpu_device
