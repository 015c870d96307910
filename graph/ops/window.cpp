// SPDX-License-Identifier: Apache-2.0
// Windows that slide over spatial axes.
#include <algorithm>

#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/internal/window.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// Attributes come from files: this bound keeps products of two of them within 63 bits.
constexpr std::int64_t kLimit = std::int64_t{1} << 30;

std::vector<std::int64_t> list(const Attributes& attributes, const char* name, std::size_t count, std::int64_t fallback,
                               std::int64_t min) {
  std::vector<std::int64_t> values = attributes.get_ints(name, {});
  if (values.empty()) values.assign(count, fallback);
  if (values.size() != count) {
    fail("attribute '" + std::string(name) + "': expected " + std::to_string(count) +
         " values, one per spatial axis, found " + std::to_string(values.size()));
  }
  for (std::int64_t value : values) {
    if (value < min || value > kLimit)
      fail("attribute '" + std::string(name) + "': " + std::to_string(value) + " is outside " + std::to_string(min) +
           ".." + std::to_string(kLimit));
  }
  return values;
}
}  // namespace

std::vector<WindowAxis> read_window(const Attributes& attributes, std::size_t spatial, bool has_dilations) {
  const auto strides = list(attributes, "strides", spatial, 1, 1);
  const auto dilations =
      has_dilations ? list(attributes, "dilations", spatial, 1, 1) : std::vector<std::int64_t>(spatial, 1);
  // A negative pad crops: OpenVINO allows it for convolutions.
  const auto begins = list(attributes, "pads_begin", spatial, 0, -kLimit);
  const auto ends = list(attributes, "pads_end", spatial, 0, -kLimit);
  std::vector<WindowAxis> axes(spatial);
  for (std::size_t i = 0; i < spatial; ++i) axes[i] = {1, strides[i], dilations[i], begins[i], ends[i]};
  return axes;
}

void resolve_auto_pad(WindowAxis& axis, const std::string& auto_pad, std::int64_t extent) {
  if (auto_pad == "valid") {
    axis.pad_begin = axis.pad_end = 0;
  } else if (auto_pad == "same_upper" || auto_pad == "same_lower") {
    const std::int64_t count = extent / axis.stride + (extent % axis.stride != 0);
    const std::int64_t needed =
        std::max<std::int64_t>(0, (count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - extent);
    axis.pad_begin = auto_pad == "same_upper" ? needed / 2 : needed - needed / 2;
    axis.pad_end = needed - axis.pad_begin;
  }
}

Dimension window_count(const WindowAxis& given, const Dimension& extent, const std::string& auto_pad, bool ceil,
                       bool ceil_torch) {
  const auto count = [&](std::int64_t in) -> std::int64_t {
    WindowAxis axis = given;
    if (in == 0 && (auto_pad == "same_upper" || auto_pad == "same_lower"))
      return 0;  // As many windows as strides, so no padding.
    if (in > (std::int64_t{1} << 61)) fail("extent " + std::to_string(in) + " is too large");
    resolve_auto_pad(axis, auto_pad, in);
    const std::int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    const std::int64_t padded = in + axis.pad_begin + axis.pad_end;
    if (padded < span) {
      fail("a window of " + std::to_string(axis.kernel) + " with dilation " + std::to_string(axis.dilation) +
           " spans " + std::to_string(span) + ", more than the padded extent " + std::to_string(padded));
    }
    std::int64_t windows = (padded - span) / axis.stride + 1;
    if (ceil || ceil_torch) {
      windows += (padded - span) % axis.stride != 0;
      // The last window must start inside the data or its left padding.
      if (ceil_torch && (windows - 1) * axis.stride >= in + axis.pad_begin) --windows;
    }
    return windows;
  };
  if (extent.is_static()) return Dimension(count(extent.get_length()));
  WindowAxis axis = given;
  if (auto_pad == "valid") axis.pad_begin = axis.pad_end = 0;
  const std::int64_t span = (axis.kernel - 1) * axis.dilation + 1;
  const bool padding_varies = auto_pad == "same_upper" || auto_pad == "same_lower";
  const std::int64_t min = padding_varies ? extent.get_min_length()
                                          : std::max(extent.get_min_length(),
                                                     std::max<std::int64_t>(0, span - axis.pad_begin - axis.pad_end));
  if (extent.get_max_length() < 0) return Dimension(count(min), -1);
  if (extent.get_max_length() < min)
    fail("no extent in " + extent.to_string() + " can hold a window of " + std::to_string(span));
  return Dimension(count(min), count(extent.get_max_length()));
}

Spatial3 spatial3(const std::vector<WindowAxis>& axes, const Shape& in, const Shape& out, std::size_t first) {
  Spatial3 result;
  const std::size_t lead = 3 - axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.in[lead + i] = in[first + i];
    result.out[lead + i] = out[first + i];
    result.window[lead + i] = axes[i];
  }
  return result;
}

Spatial3 sliding_window(const Node& node) {
  const Shape &in = node.get_input_shape(0), &out = node.get_output_shape(0);
  if (is_op(&node, "MaxPool") || is_op(&node, "AvgPool")) return pool_window(node, in, out);
  if (is_op(&node, "AdaptiveAvgPool") || is_op(&node, "AdaptiveMaxPool"))
    return spatial3(std::vector<WindowAxis>(in.size() - 2), in, out, 2);
  if (is_op(&node, "ExtractImagePatches")) return patch_window(node, in, out);
  if (is_op(&node, "Col2Im")) {
    const auto kernel = known_ints(node, 2);
    if (!kernel) fail("the kernel must be known");
    return column_window(node, *kernel, out);
  }
  return convolution_window(node, in, node.get_input_shape(is_op(&node, "DeformableConvolution") ? 2 : 1), out);
}

}  // namespace v1
}  // namespace tenon
