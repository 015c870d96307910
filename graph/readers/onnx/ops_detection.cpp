// SPDX-License-Identifier: Apache-2.0
// ONNX: regions and boxes.
#include <limits>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector non_max_suppression(const NodeContext& node) {
  const auto real_or = [&](std::size_t index, double fallback) {
    return node.has_input(index) ? reshape(node.input(index), Ints{}) : scalar(ElementType::kF32, fallback);
  };
  const Out limit = node.has_input(2) ? reshape(node.input(2), Ints{}) : int_scalar(0);
  const bool is_center = node.get_int("center_point_box", 0) != 0;
  return {op("NonMaxSuppression", 9,
             {node.input(0), node.input(1), limit, real_or(3, 0), real_or(4, std::numeric_limits<float>::lowest())},
             {{"box_encoding", is_center ? "center" : "corner"},
              {"sort_result_descending", false},
              {"output_type", ElementType::kI64}})};
}

OutputVector roi_align(const NodeContext& node) {
  const bool half_pixel =
      node.opset() >= 16 && node.get_string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  // The standard takes the maximum of the pixels' weighted values, not of the interpolated values.
  const std::string mode = node.get_string("mode", "avg");
  return {op("ROIAlign", 9, {node.input(0), node.input(1), node.input(2)},
             {{"pooled_h", node.get_int("output_height", 1)},
              {"pooled_w", node.get_int("output_width", 1)},
              {"sampling_ratio", node.get_int("sampling_ratio", 0)},
              {"spatial_scale", node.get_float("spatial_scale", 1)},
              {"mode", mode == "max" ? "max_corners" : mode},
              {"aligned_mode", half_pixel ? "half_pixel_for_nn" : "asymmetric"}})};
}

OutputVector max_roi_pool(const NodeContext& node) {
  const Ints extents = node.get_ints("pooled_shape");
  if (extents.size() != 2) fail("pooled_shape has " + std::to_string(extents.size()) + " values, expected 2");
  return {op("ROIPooling", 2, {node.input(0), node.input(1)},
             {{"pooled_h", extents[0]},
              {"pooled_w", extents[1]},
              {"spatial_scale", node.get_float("spatial_scale", 1)},
              {"method", "max"}})};
}

// Puts values back at the positions given by MaxPool's indices, with zeros elsewhere.
OutputVector max_unpool(const NodeContext& node) {
  const Out &x = node.input(0), &indices = node.input(1);
  const Ints kernel = node.get_ints("kernel_shape");
  const Ints strides = node.get_ints("strides", Ints(kernel.size(), 1));
  const Ints pads = node.get_ints("pads", Ints(2 * kernel.size(), 0));
  const PartialShape& shape = x.get_partial_shape();
  if (shape.is_dynamic()) unimplemented("the input's shape must be known");
  const Shape in = shape.to_shape();
  if (in.size() != kernel.size() + 2 || strides.size() != kernel.size() || pads.size() != 2 * kernel.size()) {
    fail("kernel_shape, strides and pads do not fit an input of shape " + to_string(in));
  }
  Ints plain{static_cast<std::int64_t>(in[0]), static_cast<std::int64_t>(in[1])};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    plain.push_back((static_cast<std::int64_t>(in[i + 2]) - 1) * strides[i] + kernel[i] - pads[i] -
                    pads[i + kernel.size()]);
  }
  // Indices refer to the default shape; a larger output shape is padded at the end.
  const auto scattered = [&](const Out& target) {
    const Out count = reduce("ReduceProd", target, ints({0}), true);
    const Out zeros = broadcast_to(scalar_like(x, 0), count);
    return reshape(
        op("ScatterElementsUpdate", 3, {zeros, reshape(indices, Ints{-1}), reshape(x, Ints{-1}), int_scalar(0)}),
        target);
  };
  if (!node.has_input(2)) return {scattered(ints(plain))};
  const Out y = scattered(ints(plain)), wanted = convert(node.input(2), ElementType::kI64);
  const Out begin = ints(Ints(in.size(), 0));
  return {op("Pad", 12, {y, begin, sub(wanted, ints(plain)), scalar_like(x, 0)}, {{"pad_mode", "constant"}})};
}

OutputVector col2im(const NodeContext& node) {
  const std::size_t axes = 2;
  const Ints pads = node.get_ints("pads", Ints(2 * axes, 0));
  if (pads.size() != 2 * axes) unimplemented("two spatial axes are supported");
  return {op("Col2Im", 15, {node.input(0), node.input(1), node.input(2)},
             {{"strides", node.get_ints("strides", Ints(axes, 1))},
              {"dilations", node.get_ints("dilations", Ints(axes, 1))},
              {"pads_begin", Ints(pads.begin(), pads.begin() + 2)},
              {"pads_end", Ints(pads.begin() + 2, pads.end())}})};
}

}  // namespace

void add_detection(ConverterTable& table) {
  table[":NonMaxSuppression"] = non_max_suppression;
  table[":RoiAlign"] = roi_align;
  table[":MaxRoiPool"] = max_roi_pool;
  table[":MaxUnpool"] = max_unpool;
  table[":Col2Im"] = col2im;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
