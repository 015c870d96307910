// SPDX-License-Identifier: Apache-2.0
// ONNX: pooling.
#include <tenon/graph/readers/onnx/internal/spatial.hpp>

#include <algorithm>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

Ints kernel_shape(const NodeContext& node) {
  const Ints kernel = node.get_ints("kernel_shape");
  if (kernel.empty()) fail("kernel_shape is empty");
  return kernel;
}

const char* rounding(const NodeContext& node) { return node.get_int("ceil_mode", 0) != 0 ? "ceil_torch" : "floor"; }

OutputVector max_pool_of(const NodeContext& node, const Out& x) {
  const Ints kernel = kernel_shape(node);
  Attributes attributes = Window(node, kernel.size()).attributes();
  attributes.set("kernel", kernel);
  attributes.set("rounding_type", rounding(node));
  attributes.set("index_element_type", ElementType::kI64);
  // Indices count within the whole tensor, i.e. from axis 0.
  attributes.set("axis", 0);
  const bool column_major = node.get_int("storage_order", 0) != 0;
  OutputVector outputs = ops("MaxPool", 14, {x}, attributes);
  if (column_major && node.wants_output(1)) {
    // From row-major places to column-major ones, within each plane: h * W * D + w * D + d is h + w * H + d * H * W there.
    Out rest = outputs[1], plane = int_scalar(1);
    std::vector<Out> extents, places;
    for (std::int64_t axis = 2; axis < node.rank(0); ++axis) extents.push_back(extent_of(x, axis));
    for (std::size_t i = extents.size(); i-- > 0; rest = div(rest, extents[i]))
      places.insert(places.begin(), op("FloorMod", 1, {rest, extents[i]}));
    for (std::size_t i = 0; i < extents.size(); plane = mul(plane, extents[i++])) places[i] = mul(places[i], plane);
    outputs[1] = mul(rest, plane);
    for (const Out& place : places) outputs[1] = add(outputs[1], place);
  }
  return outputs;
}

OutputVector max_pool(const NodeContext& node) { return max_pool_of(node, node.input(0)); }

// ONNX Runtime's own operation, with channels last.
OutputVector nhwc_max_pool(const NodeContext& node) {
  const std::int64_t rank = node.rank(0);
  if (rank < 3) fail("input 0 has rank " + std::to_string(rank) + ", expected 3 or more");
  return {transpose(max_pool_of(node, transpose(node.input(0), channels_first(rank)))[0], channels_last(rank))};
}

OutputVector average_pool(const NodeContext& node) {
  const Ints kernel = kernel_shape(node);
  Attributes attributes = Window(node, kernel.size()).attributes();
  attributes.set("kernel", kernel);
  attributes.set("exclude-pad", node.get_int("count_include_pad", 0) == 0);
  attributes.set("rounding_type", rounding(node));
  const Ints dilations = node.get_ints("dilations", {});
  const bool is_dilated = std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d != 1; });
  if (is_dilated) return {op("AvgPool", 16, {node.input(0)}, attributes)};
  attributes.erase("dilations");
  return {op("AvgPool", 14, {node.input(0)}, attributes)};
}

/// i64 [spatial axes]: the zeros that "same" windows need before the input and behind it.
std::pair<Out, Out> zeros_around(const Out& x, const Window& window, const Ints& kernel) {
  Ints spans;
  for (std::size_t i = 0; i < kernel.size(); ++i) spans.push_back((kernel[i] - 1) * window.dilations[i] + 1);
  const Out in = slice(shape_of(x), 2, static_cast<std::int64_t>(kernel.size()) + 2, 0);
  const Out stride = ints(window.strides), one = int_scalar(1);
  const Out windows = div(sub(add(in, stride), one), stride);
  const Out missing = sub(add(mul(sub(windows, one), stride), ints(spans)), in);
  const Out total = op("Maximum", 1, {missing, int_scalar(0)});
  const Out less = div(total, int_scalar(2)), more = sub(total, less);
  return window.auto_pad == "same_upper" ? std::pair(less, more) : std::pair(more, less);
}

/// f32 of narrower reals, whose powers may be beyond their type.
Out wide(const Out& x) {
  const ElementType type = x.get_element_type();
  return convert(x, info(type).bits < 32 ? ElementType::kF32 : type);
}

// (sum |x|^p)^(1/p), where the sum is the average times the window's size, pads included. With ceil_mode, what a window
// covers beyond the padding does not count, so that its average is taken for the whole: as in onnx.reference, OpenVINO
// and PyTorch. ONNX Runtime adds up what is there.
OutputVector lp_pool(const NodeContext& node) {
  const Ints kernel = kernel_shape(node);
  const Window window(node, kernel.size());
  if (static_cast<std::size_t>(node.rank(0)) != kernel.size() + 2)
    fail("kernel_shape does not fit an input of rank " + std::to_string(node.rank(0)));
  Attributes attributes = window.attributes();
  attributes.set("kernel", kernel);
  attributes.set("exclude-pad", false);
  attributes.set("rounding_type", rounding(node));
  double size = 1;
  for (std::int64_t extent : kernel) size *= static_cast<double>(extent);
  const double p = static_cast<double>(node.get_int("p", 2));
  const ElementType type = node.input(0).get_element_type();
  const Out x = wide(node.input(0));
  Out powers = power(unary("Abs", x), p);
  const bool is_dilated =
      std::any_of(window.dilations.begin(), window.dilations.end(), [](std::int64_t d) { return d != 1; });
  if (!is_dilated) attributes.erase("dilations");
  // "Same" pads count as elements too, but AvgPool never counts pads that it computed itself.
  if (window.auto_pad == "same_upper" || window.auto_pad == "same_lower") {
    const auto [begin, end] = zeros_around(x, window, kernel);
    const Out none = ints({0, 0});
    powers = op("Pad", 12, {powers, concat({none, begin}, 0), concat({none, end}, 0), scalar_like(x, 0)},
                {{"pad_mode", "constant"}});
    attributes.set("auto_pad", "valid");
  }
  const Out mean = op("AvgPool", is_dilated ? 16 : 14, {powers}, attributes);
  return {convert(power(mul(mean, scalar_like(x, size)), 1 / p), type)};
}

Out spatial_axes_of(const NodeContext& node) {
  Ints axes;
  for (std::int64_t axis = 2; axis < node.rank(0); ++axis) axes.push_back(axis);
  return ints(axes);
}

OutputVector global_average_pool(const NodeContext& node) {
  return {reduce("ReduceMean", node.input(0), spatial_axes_of(node), true)};
}
OutputVector global_max_pool(const NodeContext& node) {
  return {reduce("ReduceMax", node.input(0), spatial_axes_of(node), true)};
}
OutputVector global_lp_pool(const NodeContext& node) {
  const double p = static_cast<double>(node.get_int("p", 2));
  const Out sum = reduce("ReduceSum", power(unary("Abs", wide(node.input(0))), p), spatial_axes_of(node), true);
  return {convert(power(sum, 1 / p), node.input(0).get_element_type())};
}

}  // namespace

void add_pooling(ConverterTable& table) {
  table[":MaxPool"] = max_pool;
  table["com.microsoft:NhwcMaxPool"] = nhwc_max_pool;
  table[":AveragePool"] = average_pool;
  table[":LpPool"] = lp_pool;
  table[":GlobalAveragePool"] = global_average_pool;
  table[":GlobalMaxPool"] = global_max_pool;
  table[":GlobalLpPool"] = global_lp_pool;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
