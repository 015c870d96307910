// SPDX-License-Identifier: Apache-2.0
// ONNX: convolutions.
#include <tenon/graph/readers/onnx/internal/spatial.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

Window::Window(const NodeContext& node, std::size_t spatial_axes) {
  strides = node.get_ints("strides", Ints(spatial_axes, 1));
  dilations = node.get_ints("dilations", Ints(spatial_axes, 1));
  Ints pads = node.get_ints("pads", Ints(2 * spatial_axes, 0));
  const auto check = [&](const Ints& values, std::size_t count, const char* what) {
    if (values.size() == count) return;
    fail(std::string(what) + " has " + std::to_string(values.size()) + " entries, expected " + std::to_string(count));
  };
  check(strides, spatial_axes, "strides");
  check(dilations, spatial_axes, "dilations");
  check(pads, 2 * spatial_axes, "pads");
  pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial_axes));
  pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial_axes), pads.end());
  const std::string mode = node.get_string("auto_pad", "NOTSET");
  if (mode == "NOTSET")
    auto_pad = "explicit";
  else if (mode == "SAME_UPPER")
    auto_pad = "same_upper";
  else if (mode == "SAME_LOWER")
    auto_pad = "same_lower";
  else if (mode == "VALID")
    auto_pad = "valid";
  else
    fail("auto_pad \"" + mode + "\" is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
}

Attributes Window::attributes() const {
  return {{"strides", strides},
          {"dilations", dilations},
          {"pads_begin", pads_begin},
          {"pads_end", pads_end},
          {"auto_pad", auto_pad}};
}

namespace {

std::size_t spatial_axes(const NodeContext& node, std::size_t weights = 1) {
  const std::int64_t rank = node.input(0).get_partial_shape().rank().is_static() ? node.rank(0) : node.rank(weights);
  if (rank < 3) fail("the input has rank " + std::to_string(rank) + ", expected at least 3");
  return static_cast<std::size_t>(rank - 2);
}

// [C, ...] to [groups, C / groups, ...], the form of filters in groups.
Out grouped(const Out& weights, std::int64_t groups) {
  if (groups < 1) fail("group is " + std::to_string(groups) + ", expected at least 1");
  const PartialShape& shape = weights.get_partial_shape();
  if (shape.is_static()) {
    const Shape extents = shape.to_shape();
    if (extents.empty() || extents[0] % static_cast<std::size_t>(groups) != 0) {
      fail("filters " + to_string(extents) + " do not divide into " + std::to_string(groups) + " groups");
    }
    Ints target{groups, static_cast<std::int64_t>(extents[0]) / groups};
    for (std::size_t i = 1; i < extents.size(); ++i) target.push_back(static_cast<std::int64_t>(extents[i]));
    return reshape(weights, target);
  }
  const Out head = ints({groups, -1});
  return reshape(weights, concat({head, slice(shape_of(weights), 1, 1000, 0)}, 0));
}

Out with_bias(const Out& x, const NodeContext& node) {
  return node.has_input(2) ? add(x, per_channel(node.input(2), x)) : x;
}

Out convolve(const Out& x, const Out& weights, const Window& window, std::int64_t groups) {
  if (groups == 1) return op("Convolution", 1, {x, weights}, window.attributes());
  return op("GroupConvolution", 1, {x, grouped(weights, groups)}, window.attributes());
}

OutputVector conv(const NodeContext& node) {
  const Window window(node, spatial_axes(node));
  return {with_bias(convolve(node.input(0), node.input(1), window, node.get_int("group", 1)), node)};
}

OutputVector conv_transpose(const NodeContext& node) {
  const std::size_t axes = spatial_axes(node);
  const Window window(node, axes);
  const std::int64_t groups = node.get_int("group", 1);
  Attributes attributes = window.attributes();
  attributes.set("output_padding", node.get_ints("output_padding", Ints(axes, 0)));
  OutputVector inputs{node.input(0), groups == 1 ? node.input(1) : grouped(node.input(1), groups)};
  if (static_cast<std::size_t>(node.rank(1)) != axes + 2) {
    fail("filters have rank " + std::to_string(node.rank(1)) + ", expected " + std::to_string(axes + 2));
  }
  if (node.has("output_shape")) {
    // Pads follow from the input's extents. ONNX puts the extra pixel of an odd total in front unless told otherwise;
    // the table's "same" modes do the reverse.
    Ints wanted = node.get_ints("output_shape");
    if (wanted.size() == axes + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (wanted.size() != axes)
      fail("output_shape has " + std::to_string(wanted.size()) + " entries, expected " + std::to_string(axes));
    inputs.push_back(ints(wanted));
    attributes.set("auto_pad", window.auto_pad == "same_upper" ? "same_lower" : "same_upper");
  } else if (window.auto_pad == "same_upper" || window.auto_pad == "same_lower") {
    // "Same" means output = input * stride here.
    const PartialShape& w = node.input(1).get_partial_shape();
    if (w.is_dynamic()) unimplemented("auto_pad " + window.auto_pad + " needs filters of a static shape");
    Ints begin(axes), end(axes), padding = node.get_ints("output_padding", Ints(axes, 0));
    if (padding.size() != axes)
      fail("output_padding has " + std::to_string(padding.size()) + " entries, expected " + std::to_string(axes));
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t total = (w[i + 2].get_length() - 1) * window.dilations[i] + 1 + padding[i] - window.strides[i];
      if (total < 0) padding[i] -= total;
      const std::int64_t pads = std::max<std::int64_t>(total, 0);
      begin[i] = window.auto_pad == "same_upper" ? pads / 2 : pads - pads / 2;
      end[i] = pads - begin[i];
    }
    attributes.set("pads_begin", begin);
    attributes.set("pads_end", end);
    attributes.set("output_padding", padding);
    attributes.set("auto_pad", "explicit");
  }
  return {with_bias(op(groups == 1 ? "ConvolutionBackpropData" : "GroupConvolutionBackpropData", 1, inputs, attributes),
                    node)};
}

// Integers minus their zero points, in f32: exact up to 2^24, which sums of 8-bit products exceed only after 256 Ki
// terms.
Out centred(const NodeContext& node, std::size_t index, std::size_t zero_point, bool per_output_channel) {
  const Out x = convert(node.input(index), ElementType::kF32);
  if (!node.has_input(zero_point)) return x;
  const Out zero = convert(node.input(zero_point), ElementType::kF32);
  const PartialShape& shape = zero.get_partial_shape();
  const bool is_single = shape.is_static() && element_count(shape.to_shape()) == 1;
  if (is_single) return sub(x, reshape(zero, Ints{}));
  if (!per_output_channel) return sub(x, per_channel(zero, x));
  Ints axes(static_cast<std::size_t>(node.rank(index)), 1);
  axes[static_cast<std::size_t>(normalized_axis(0, node.rank(index)))] = -1;
  return sub(x, reshape(zero, axes));
}

OutputVector conv_integer(const NodeContext& node) {
  const Window window(node, spatial_axes(node));
  const Out x = centred(node, 0, 2, false), w = centred(node, 1, 3, true);
  return {convert(convolve(x, w, window, node.get_int("group", 1)), ElementType::kI32)};
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias
OutputVector qlinear_conv(const NodeContext& node) {
  const Window window(node, spatial_axes(node, 3));
  const Out x = centred(node, 0, 2, false), w = centred(node, 3, 5, true);
  Out y = convolve(x, w, window, node.get_int("group", 1));
  if (node.has_input(8)) y = add(y, per_channel(convert(node.input(8), ElementType::kF32), y));
  const auto factor = [&](const Out& scale) {
    const PartialShape& shape = scale.get_partial_shape();
    const bool is_single = shape.is_static() && element_count(shape.to_shape()) == 1;
    return is_single ? reshape(scale, Ints{}) : per_channel(scale, y);
  };
  y = mul(y, div(mul(factor(node.input(1)), factor(node.input(4))), factor(node.input(6))));
  y = add(op("Round", 5, {y}, {{"mode", "half_to_even"}}), reshape(convert(node.input(7), ElementType::kF32), Ints{}));
  const bool is_signed = node.type(7) == ElementType::kI8;
  y = op("Clamp", 1, {y}, {{"min", is_signed ? -128.0 : 0.0}, {"max", is_signed ? 127.0 : 255.0}});
  return {convert(y, node.type(7))};
}

OutputVector deform_conv(const NodeContext& node) {
  const Window window(node, spatial_axes(node));
  Attributes attributes = window.attributes();
  attributes.set("group", node.get_int("group", 1));
  attributes.set("deformable_group", node.get_int("offset_group", 1));
  attributes.set("bilinear_interpolation_pad", true);
  OutputVector inputs{node.input(0), node.input(2), node.input(1)};
  if (node.has_input(4)) inputs.push_back(node.input(4));
  const Out y = op("DeformableConvolution", 8, inputs, attributes);
  return {node.has_input(3) ? add(y, per_channel(node.input(3), y)) : y};
}

}  // namespace

void add_convolutions(ConverterTable& table) {
  table[":Conv"] = conv;
  table[":ConvTranspose"] = conv_transpose;
  table[":ConvInteger"] = conv_integer;
  table[":QLinearConv"] = qlinear_conv;
  table[":DeformConv"] = deform_conv;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
