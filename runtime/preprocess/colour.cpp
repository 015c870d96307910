// SPDX-License-Identifier: Apache-2.0
// Colour formats: their planes, and conversions between them.
#include <tenon/graph/layout_axes.hpp>
#include <tenon/runtime/preprocess/internal/steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
namespace {

bool is_rgb(ColorFormat format) { return format == ColorFormat::RGB || format == ColorFormat::BGR; }
bool is_single_yuv(ColorFormat format) {
  return format == ColorFormat::NV12_SINGLE_PLANE || format == ColorFormat::I420_SINGLE_PLANE;
}
bool is_nv12(ColorFormat format) {
  return format == ColorFormat::NV12_SINGLE_PLANE || format == ColorFormat::NV12_TWO_PLANES;
}
bool is_yuv(ColorFormat format) {
  return is_single_yuv(format) || format == ColorFormat::NV12_TWO_PLANES || format == ColorFormat::I420_THREE_PLANES;
}

/// Luma alone: the first plane, or the first two thirds of the rows.
Output<Node> luma(const OutputVector& planes, ColorFormat format) {
  const Output<Node>& first = planes[0];
  if (!is_single_yuv(format)) return first;
  const Dimension rows = first.get_partial_shape()[1];
  Output<Node> stop;
  if (rows.is_static()) {
    stop = constant_of({rows.get_length() / 3 * 2});
  } else {
    const auto shape = node_of("ShapeOf", 3, {first});
    const auto height = node_of("Gather", 8, {shape, constant_of({1}), constant_of({0})});
    stop = node_of("Divide", 1, {node_of("Multiply", 1, {height, constant_of({2})}), constant_of({3})});
  }
  return node_of("Slice", 8, {first, constant_of({0}), stop, constant_of({1}), constant_of({1})});
}

OutputVector convert_yuv(const OutputVector& nodes, ColorFormat from, ColorFormat to) {
  if (to == ColorFormat::GRAY) return {luma(nodes, from)};
  check(is_rgb(to), std::string("Unsupported conversion from ") + (is_nv12(from) ? "NV12" : "I420") + " to '" +
                        color_format_name(to) + "' format: only RGB, BGR and GRAY can be made of it");
  const std::string type = std::string(is_nv12(from) ? "NV12" : "I420") + (to == ColorFormat::RGB ? "toRGB" : "toBGR");
  return {node_of(type.c_str(), 8, nodes)};
}

/// @source OpenCV's weights, which OpenVINO uses: BT.601 luma.
OutputVector to_gray(const OutputVector& nodes, const StepContext& context) {
  Output<Node> x = nodes[0];
  const element::Type type = x.get_element_type();
  const PartialShape shape = x.get_partial_shape();
  check(shape.rank().is_static() && shape.size() == 4,
        "Input shape size should be equal to 4, actual shape: " + shape.to_string());
  const std::size_t axis = named_axis(context.layout, shape, "C", "channels");
  check(shape[axis].compatible(3), "Channels dimension should be equal to 3, actual value: " + shape[axis].to_string());
  std::vector<double> weights{0.299, 0.587, 0.114};
  if (context.colour == ColorFormat::BGR) std::swap(weights[0], weights[2]);
  Shape weights_shape(4, 1);
  weights_shape[axis] = 3;
  const element::Type real = type.is_real() ? type : element::f32;
  if (!type.is_real()) x = node_of("Convert", 1, {x}, {{"destination_type", real}});
  x = node_of("Multiply", 1, {x, std::make_shared<op::v0::Constant>(real, weights_shape, weights)->output(0)});
  x = node_of("ReduceSum", 1, {x, constant_of({static_cast<std::int64_t>(axis)})}, {{"keep_dims", true}});
  if (!type.is_real()) {
    x = node_of("Round", 5, {x}, {{"mode", "half_to_even"}});
    x = node_of("Convert", 1, {x}, {{"destination_type", type}});
  }
  return {x};
}

OutputVector cut_last_channel(const OutputVector& nodes, const StepContext& context) {
  const Output<Node>& x = nodes[0];
  const auto axis = static_cast<std::int64_t>(named_axis(context.layout, x.get_partial_shape(), "C", "channels"));
  return {node_of("Slice", 8, {x, constant_of({0}), constant_of({-1}), constant_of({1}), constant_of({axis})})};
}

OutputVector convert_color(const OutputVector& nodes, StepContext& context, ColorFormat to) {
  const ColorFormat from = context.colour;
  if (from == to) return nodes;
  OutputVector made;
  if (is_yuv(from)) {
    made = convert_yuv(nodes, from, to);
  } else if (is_rgb(from) && is_rgb(to)) {
    made = reverse_channels(nodes, context);
  } else if (is_rgb(from) && to == ColorFormat::GRAY) {
    made = to_gray(nodes, context);
  } else if ((from == ColorFormat::RGBX || from == ColorFormat::BGRX) && is_rgb(to)) {
    made = cut_last_channel(nodes, context);
    if ((from == ColorFormat::RGBX) != (to == ColorFormat::RGB)) made = reverse_channels(made, context);
  } else {
    throw AssertFailure("Source color format '" + color_format_name(from) + "' is not convertible to '" +
                        color_format_name(to) + "'");
  }
  context.colour = to;
  return made;
}

}  // namespace

std::string color_format_name(ColorFormat format) {
  switch (format) {
    case ColorFormat::NV12_SINGLE_PLANE:
      return "NV12 (single plane)";
    case ColorFormat::NV12_TWO_PLANES:
      return "NV12 (multi-plane)";
    case ColorFormat::I420_SINGLE_PLANE:
      return "I420 (single plane)";
    case ColorFormat::I420_THREE_PLANES:
      return "I420 (multi-plane)";
    case ColorFormat::RGB:
      return "RGB";
    case ColorFormat::BGR:
      return "BGR";
    case ColorFormat::GRAY:
      return "GRAY";
    case ColorFormat::RGBX:
      return "RGBX";
    case ColorFormat::BGRX:
      return "BGRX";
    default:
      return "Unknown";
  }
}

std::size_t plane_count(ColorFormat format) {
  return format == ColorFormat::NV12_TWO_PLANES ? 2 : format == ColorFormat::I420_THREE_PLANES ? 3 : 1;
}

PartialShape plane_shape(ColorFormat format, std::size_t plane, const PartialShape& shape, const Layout& layout) {
  if (format == ColorFormat::UNDEFINED || format == ColorFormat::GRAY || shape.rank().is_dynamic()) return shape;
  PartialShape result = shape;
  if (is_rgb(format)) {
    result[named_axis(layout, shape, "C", "channels")] = 3;
    return result;
  }
  if (shape.size() != 4) return shape;
  if (!is_yuv(format)) {
    result[3] = 4;
    return result;
  }
  const auto scaled = [](const Dimension& d, std::int64_t multiply, std::int64_t divide) {
    return d.is_static() ? Dimension(d.get_length() * multiply / divide) : Dimension::dynamic();
  };
  result[3] = plane > 0 && is_nv12(format) ? 2 : 1;
  if (is_single_yuv(format)) result[1] = scaled(result[1], 3, 2);
  if (plane > 0) {
    result[1] = scaled(result[1], 1, 2);
    result[2] = scaled(result[2], 1, 2);
  }
  return result;
}

void check_sub_names(ColorFormat format, const std::vector<std::string>& sub_names) {
  if (plane_count(format) == 1) {
    check(sub_names.empty(),
          "Plane names are not allowed for single plane color format '" + color_format_name(format) + "'");
  } else if (!sub_names.empty()) {
    check(sub_names.size() == plane_count(format),
          "Number of sub-names (" + std::to_string(sub_names.size()) + ") shall match with number of planes for '" +
              color_format_name(format) + "' color format (" + std::to_string(plane_count(format)) + ")");
  }
}

OutputVector reverse_channels(const OutputVector& nodes, const StepContext& context) {
  check(nodes.size() == 1,
        "can't reverse channels for multi-plane inputs. Suggesting to convert current image to RGB/BGR color format "
        "using 'convert_color'");
  check(layout::has_channels(context.layout),
        "Layout " + context.layout.to_string() + " doesn't have `channels` dimension");
  const Output<Node>& x = nodes[0];
  const PartialShape& shape = x.get_partial_shape();
  const bool ranked = shape.rank().is_static();
  const std::int64_t axis = ranked ? static_cast<std::int64_t>(named_axis(context.layout, shape, "C", "channels"))
                                   : layout::channels_idx(context.layout);
  Output<Node> order;
  if (ranked && shape[static_cast<std::size_t>(axis)].is_static()) {
    std::vector<std::int64_t> channels;
    for (auto c = shape[static_cast<std::size_t>(axis)].get_length(); c-- > 0;) channels.push_back(c);
    order = constant_of(channels, element::i32);
  } else {
    const auto scalar = [](std::int64_t value) {
      return std::make_shared<op::v0::Constant>(element::i64, Shape{}, std::vector<std::int64_t>{value})->output(0);
    };
    const auto extent = node_of("Gather", 8, {node_of("ShapeOf", 3, {x}), scalar(axis), scalar(0)});
    const auto last = node_of("Subtract", 1, {extent, scalar(1)});
    order = node_of("Range", 4, {last, scalar(-1), scalar(-1)}, {{"output_type", element::Type(element::i32)}});
  }
  return {node_of("Gather", 8, {x, order, constant_of({axis})})};
}

Step convert_color_step(ColorFormat to) {
  return {"convert color (" + color_format_name(to) + ")",
          [to](const OutputVector& nodes, StepContext& context) { return convert_color(nodes, context, to); },
          {},
          {}};
}

Step convert_output_color_step(ColorFormat to) {
  return {"convert color (" + color_format_name(to) + ")",
          [to](const OutputVector& nodes, StepContext& context) {
            if (context.colour == to) return nodes;
            check(is_rgb(context.colour) && is_rgb(to), "Source color format '" + color_format_name(context.colour) +
                                                            "' is not convertible to '" + color_format_name(to) + "'");
            context.colour = to;
            return reverse_channels(nodes, context);
          },
          {},
          {}};
}

}  // namespace detail
}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
