// SPDX-License-Identifier: Apache-2.0
// InputStage: one kernel that reads the decoder's planes where they lie.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

std::string list(std::span<const double> numbers) {
  std::string text = "{";
  for (const double number : numbers) text += (text.size() > 1 ? ", " : "") + literal_text(ElementType::kF32, number);
  return text + "}";
}

template <typename T>
Tensor tensor_of(ElementType type, const std::vector<T>& values) {
  Tensor tensor(type, Shape{values.size()});
  if (!values.empty()) std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

void add_taps(Builder& builder, Kernel& kernel, const std::string& name, const AxisTaps& taps) {
  const std::vector<std::int32_t> low(taps.low.begin(), taps.low.end()), high(taps.high.begin(), taps.high.end());
  const std::vector<float> weight(taps.weight.begin(), taps.weight.end());
  kernel.reads(name + "_LOW", builder.hold(tensor_of(ElementType::kI32, low)))
      .reads(name + "_HIGH", builder.hold(tensor_of(ElementType::kI32, high)))
      .reads(name + "_WEIGHT", builder.hold(tensor_of(ElementType::kF32, weight)));
}

/// A sample in a plane; planes that lie in one tensor follow each other there.
std::string sample_text(const InputStageSpec& spec, std::size_t plane, const std::string& row,
                        const std::string& element) {
  if (!spec.packed) return "PLANE" + std::to_string(plane) + "_IN(" + row + ", " + element + ")";
  const std::string width = std::to_string(spec.source_width);
  if (!spec.layout.is_yuv)
    return "PLANE0_IN(" + std::to_string(plane) + ", (" + row + ") * " + width + " + " + element + ")";
  if (plane == 0) return "PLANE0_IN(" + row + ", " + element + ")";
  // Chroma has shorter rows in I420: two of them are one of luma.
  const Shape shape = spec.plane_shape(plane);
  const std::size_t before = spec.source_height * spec.source_width + (plane - 1) * shape[1] * shape[2] * shape[3];
  const std::string at = "(" + std::to_string(before) + " + (" + row + ") * " + std::to_string(shape[2] * shape[3]) +
                         " + " + element + ")";
  return "PLANE0_IN(" + at + " / " + width + ", " + at + " % " + width + ")";
}

/// The value in a sample of 16 bits; see FrameLayout::value_of().
std::string value_text(const FrameLayout& layout, std::string sample) {
  if (layout.swapped) sample = "rotate((ushort)" + sample + ", (ushort)8)";
  return "(" + sample + " >> " + std::to_string(layout.shift) + " & " + std::to_string((1 << layout.bits) - 1) + ")";
}

/// SAMPLE0(x, y)...: where a component's sample lies in its plane.
void add_samples(Kernel& kernel, const InputStageSpec& spec) {
  const std::size_t count = spec.layout.component_count;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::string name = "SAMPLE" + std::to_string(k) + "(x, y)";
    if (k >= count) {
      kernel.define(name, "0");
      continue;
    }
    const FrameComponent& component = spec.layout.components[k];
    std::string text = sample_text(spec, component.plane, "(y) >> " + std::to_string(component.shift_y),
                                   "((x) >> " + std::to_string(component.shift_x) + ") * " +
                                       std::to_string(component.step) + " + " + std::to_string(component.offset));
    if (spec.layout.bits != 8) text = value_text(spec.layout, text);
    kernel.define(name, "(float)" + text);
  }
}

void lower_input_stage(Builder& builder, const Node& node) {
  const InputStageSpec spec = spec_of(node);
  Kernel kernel = builder.kernel("input_stage");
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    kernel.reads_rows("PLANE" + std::to_string(i), builder.packed_source(node.input_value(i)));
  add_samples(kernel, spec);
  add_taps(builder, kernel, "COLUMN", spec.columns);
  add_taps(builder, kernel, "LINE", spec.rows);
  const View out = builder.make(node, 0);
  kernel.writes("OUT", out);
  std::string matrix = "{";
  for (const auto& row : spec.matrix) matrix += (matrix.size() > 1 ? ", " : "") + list(row);
  kernel.define("MATRIX", matrix + "}")
      .define("OFFSET", list(spec.offset))
      .define("MEAN", list(spec.mean))
      .define("SCALE", list(spec.scale))
      .define("PAD", list(spec.pad))
      .define("CHANNELS", static_cast<std::int64_t>(std::min<std::size_t>(spec.channels, 3)))
      .define("IS_PLANAR", spec.planar ? 1 : 0)
      .define("IS_BYTES", spec.type == ElementType::kU8 ? 1 : 0)
      .define("CONVERTS_FIRST", spec.convert_first ? 1 : 0)
      .define("ROUNDS_FIRST", spec.round_first ? 1 : 0);
  const PixelRect& placed = spec.geometry.placed;
  kernel.number("WIDTH", static_cast<std::int64_t>(spec.width))
      .number("HEIGHT", static_cast<std::int64_t>(spec.height))
      .number("PLACED_X", static_cast<std::int64_t>(placed.x))
      .number("PLACED_Y", static_cast<std::int64_t>(placed.y))
      .number("PLACED_WIDTH", static_cast<std::int64_t>(placed.width))
      .number("PLACED_HEIGHT", static_cast<std::int64_t>(placed.height));
  kernel.text(kernels::input_stage);
  kernel.over({spec.width, spec.height}, {std::min<std::size_t>(builder.target().max_group, 64), 1});
  builder.launch(std::move(kernel), node);
}

}  // namespace

void register_input_stage(LoweringTable& table) { table["InputStage"] = {lower_input_stage}; }

}  // namespace tenon::inline v1::gpu_device
