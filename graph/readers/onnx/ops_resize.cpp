// SPDX-License-Identifier: Apache-2.0
// ONNX: resizing and sampling of images.
#include <algorithm>

#include <tenon/graph/readers/onnx/onnx_internal.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

std::string interpolation(const std::string& mode) {
  if (mode == "nearest") return "nearest";
  if (mode == "linear" || mode == "bilinear") return "linear_onnx";
  if (mode == "cubic") return "cubic";
  fail("mode \"" + mode + "\" is none of nearest, linear, cubic");
}

bool is_absent(const NodeContext& node, std::size_t index) {
  if (!node.has_input(index)) return true;
  const PartialShape& shape = node.input(index).get_partial_shape();
  return shape.rank() == Rank(1) && shape[0] == Dimension(0);
}

OutputVector resize(const NodeContext& node) {
  const Out x = node.input(0);
  const std::int64_t rank = node.rank(0);
  Attributes attributes{{"mode", interpolation(node.get_string("mode", "nearest"))},
                        {"nearest_mode", node.get_string("nearest_mode", "round_prefer_floor")},
                        {"cube_coeff", node.get_float("cubic_coeff_a", -0.75)},
                        {"antialias", node.get_int("antialias", 0) != 0}};
  std::string coordinates = node.get_string("coordinate_transformation_mode", "half_pixel");
  std::size_t scales = 2;
  if (node.opset() < 11) {
    // Resize-10: scales only, and what later versions call asymmetric with floor.
    scales = 1;
    coordinates = "asymmetric";
    attributes.set("nearest_mode", "floor");
  }
  if (node.get_int("exclude_outside", 0) != 0) unimplemented("exclude_outside 1 is not supported");
  static const std::vector<std::string> kSupported = {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
                                                      "tf_half_pixel_for_nn"};
  if (std::find(kSupported.begin(), kSupported.end(), coordinates) == kSupported.end()) {
    unimplemented("coordinate_transformation_mode \"" + coordinates + "\" is not supported");
  }
  attributes.set("coordinate_transformation_mode", coordinates);
  Ints axes = node.get_ints("axes", {});
  if (!node.has("axes")) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank);
  const bool by_sizes = is_absent(node, scales);
  if (by_sizes && is_absent(node, 3)) fail("has neither scales nor sizes");
  attributes.set("shape_calculation_mode", by_sizes ? "sizes" : "scales");
  Out target = by_sizes ? convert(node.input(3), ElementType::kI64) : convert(node.input(scales), ElementType::kF32);
  const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
  if (by_sizes && policy != "stretch") {
    // One scale for all axes; sizes rounded half up.
    const Out present = convert(op("Gather", 8, {shape_of(x), ints(axes), int_scalar(0)}, {{"batch_dims", 0}}), ElementType::kF32);
    const Out ratio = div(convert(target, ElementType::kF32), present);
    const Out scale = reduce(policy == "not_larger" ? "ReduceMin" : "ReduceMax", ratio, ints({0}), false);
    target = convert(unary("Floor", add(mul(present, scale), scalar(ElementType::kF32, 0.5))), ElementType::kI64);
  }
  return {op("Interpolate", 11, {x, target, ints(axes)}, attributes)};
}

OutputVector upsample(const NodeContext& node) {
  const Out x = node.input(0);
  const Out scales = node.has_input(1) ? node.input(1) : reals(ElementType::kF32, node.get_floats("scales"));
  Ints axes;
  for (std::int64_t axis = 0; axis < node.rank(0); ++axis) axes.push_back(axis);
  return {op("Interpolate", 11, {x, scales, ints(axes)},
             {{"mode", interpolation(node.get_string("mode", "nearest"))}, {"shape_calculation_mode", "scales"},
              {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}})};
}

OutputVector grid_sample(const NodeContext& node) {
  std::string mode = node.get_string("mode", "bilinear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  if (node.rank(0) != 4) unimplemented("supported are two spatial axes, found " + std::to_string(node.rank(0) - 2));
  return {op("GridSample", 9, {node.input(0), node.input(1)},
             {{"align_corners", node.get_int("align_corners", 0) != 0}, {"mode", mode},
              {"padding_mode", node.get_string("padding_mode", "zeros")}})};
}

// A regular grid of [-1, 1] moved by theta: coordinates x, y(, z) and 1 times its transpose.
OutputVector affine_grid(const NodeContext& node) {
  const Out theta = node.input(0);
  const ElementType type = theta.get_element_type();
  const Ints size = node.constant_ints(1, "size");
  if (size.size() != 4 && size.size() != 5) fail("size has " + std::to_string(size.size()) + " entries, expected 4 or 5");
  const bool corners = node.get_int("align_corners", 0) != 0;
  const std::size_t axes = size.size() - 2;
  Shape grid_shape;
  std::size_t points = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    if (size[i + 2] < 1 || size[i + 2] > (1 << 16)) fail("size has the extent " + std::to_string(size[i + 2]));
    points *= static_cast<std::size_t>(size[i + 2]);
  }
  if (points > (std::size_t{1} << 26)) fail("the grid has more than 2^26 points");
  std::vector<double> base(points * (axes + 1), 1.0);
  for (std::size_t point = 0; point < points; ++point) {
    std::size_t rest = point;
    // The last axis runs fastest and comes first in the coordinates.
    for (std::size_t i = 0; i < axes; ++i) {
      const auto extent = static_cast<double>(size[size.size() - 1 - i]);
      const auto step = static_cast<double>(rest % static_cast<std::size_t>(extent));
      rest /= static_cast<std::size_t>(extent);
      base[point * (axes + 1) + i] = corners ? (extent > 1 ? -1 + 2 * step / (extent - 1) : 0) : (2 * step + 1) / extent - 1;
    }
  }
  const Out constant = std::make_shared<op::v0::Constant>(type, Shape{points, axes + 1}, base)->output(0);
  const Out moved = matmul(constant, theta, false, true);
  Ints target{size[0]};
  target.insert(target.end(), size.begin() + 2, size.end());
  target.push_back(static_cast<std::int64_t>(axes));
  return {reshape(moved, target)};
}

}  // namespace

void add_resize(ConverterTable& table) {
  table[":Resize"] = resize;
  table[":Upsample"] = upsample;
  table[":GridSample"] = grid_sample;
  table[":AffineGrid"] = affine_grid;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
