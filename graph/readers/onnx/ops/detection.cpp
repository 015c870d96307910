// SPDX-License-Identifier: Apache-2.0
// ONNX: regions and boxes.
#include <limits>

#include <tenon/graph/readers/onnx/internal/spatial.hpp>

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
  const std::int64_t rank = node.rank(0);
  if (static_cast<std::size_t>(rank) != kernel.size() + 2 || strides.size() != kernel.size() ||
      pads.size() != 2 * kernel.size()) {
    fail("kernel_shape, strides and pads do not fit an input of rank " + std::to_string(rank));
  }
  Ints beyond;
  for (std::size_t i = 0; i < kernel.size(); ++i) beyond.push_back(kernel[i] - pads[i] - pads[i + kernel.size()]);
  const Out shape = shape_of(x), windows = sub(slice(shape, 2, rank, 0), int_scalar(1));
  const Out plain = concat({slice(shape, 0, 2, 0), add(mul(windows, ints(strides)), ints(beyond))}, 0);
  // Indices refer to the default shape; a larger output shape is padded at the end.
  const auto scattered = [&](const Out& target) {
    const Out count = reduce("ReduceProd", target, ints({0}), true);
    const Out zeros = broadcast_to(scalar_like(x, 0), count);
    return reshape(
        op("ScatterElementsUpdate", 3, {zeros, reshape(indices, Ints{-1}), reshape(x, Ints{-1}), int_scalar(0)}),
        target);
  };
  if (!node.has_input(2)) return {scattered(plain)};
  const Out y = scattered(plain), wanted = convert(node.input(2), ElementType::kI64);
  const Out begin = ints(Ints(static_cast<std::size_t>(rank), 0));
  return {op("Pad", 12, {y, begin, sub(wanted, plain), scalar_like(x, 0)}, {{"pad_mode", "constant"}})};
}

// Windows over other than two axes: a transposed convolution whose filters put each place of a window where it belongs.
Out columns_to_image(const NodeContext& node, const Window& window) {
  const Out &columns = node.input(0), one = int_scalar(1);
  const Out image = convert(node.input(1), ElementType::kI64), kernel = convert(node.input(2), ElementType::kI64);
  Ints pads;
  for (std::size_t i = 0; i < window.strides.size(); ++i) pads.push_back(window.pads_begin[i] + window.pads_end[i] - 1);
  const Out reach = mul(sub(kernel, one), ints(window.dilations));
  const Out windows = add(div(sub(add(image, ints(pads)), reach), ints(window.strides)), one);
  const Out places = reduce("ReduceProd", kernel, ints({0}), true);
  const Out place = range(int_scalar(0), squeeze(places, {0}), one, ElementType::kI64);
  const Out identity = op("Equal", 1, {unsqueeze(place, {1}), unsqueeze(place, {0})});
  const Out filters = reshape(convert(identity, columns.get_element_type()), concat({places, ints({1}), kernel}, 0));
  const Out y = op("ConvolutionBackpropData", 1,
                   {reshape(columns, concat({ints({-1}), places, windows}, 0)), filters, image}, window.attributes());
  return reshape(y, concat({slice(shape_of(columns), 0, 1, 0), ints({-1}), image}, 0));
}

OutputVector col2im(const NodeContext& node) {
  const PartialShape& shape = node.input(2).get_partial_shape();
  const bool is_known = shape.rank() == Rank(1) && shape[0].is_static();
  const std::size_t axes =
      is_known ? static_cast<std::size_t>(shape[0].get_length()) : node.get_ints("pads", Ints(4)).size() / 2;
  const Window window(node, axes);
  if (axes == 2)
    return {op("Col2Im", 15, {node.input(0), node.input(1), node.input(2)},
               {{"strides", window.strides},
                {"dilations", window.dilations},
                {"pads_begin", window.pads_begin},
                {"pads_end", window.pads_end}})};
  if (axes != 1 && axes != 3) unimplemented("has " + std::to_string(axes) + " spatial axes; 1 to 3 are written out");
  return {columns_to_image(node, window)};
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
