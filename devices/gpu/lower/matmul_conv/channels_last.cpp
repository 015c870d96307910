// SPDX-License-Identifier: Apache-2.0
// Brings pictures into the order that kernels read fastest.
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>

#include <algorithm>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>

namespace tenon::inline v1::gpu_device {

Picture picture_of(const View& view) {
  const std::size_t rank = view.shape.size();
  Picture picture;
  picture.view = view;
  picture.images = view.shape[0];
  picture.channels = view.shape[1];
  picture.pixels = view.shape[rank - 1];
  picture.image_step = view.strides[0];
  picture.pixel_step = view.strides[rank - 1];
  if (rank > 3) {
    picture.lines = view.shape[2];
    picture.line_step = view.strides[2];
  }
  return picture;
}

bool is_wide_picture(const Builder& builder, const View& view) {
  return (view.numbers || view.type == builder.target().reals()) && is_channels_last(view) && builder.is_wide(view, 1);
}

namespace {

/// Begins the copy into a framed picture of `type`.
Kernel begin_framing(Builder& builder, const View& view, const Picture& from, const Frame& frame, ElementType type,
                     Picture& to) {
  to.images = from.images;
  to.channels = frame.wide;
  to.lines = from.lines + frame.top + frame.bottom;
  to.pixels = from.pixels + frame.left + frame.right;
  to.pixel_step = static_cast<std::int64_t>(frame.wide);
  to.line_step = to.pixel_step * static_cast<std::int64_t>(to.pixels);
  to.image_step = to.line_step * static_cast<std::int64_t>(to.lines);
  to.view = builder.scratch(type, {to.images, to.lines, to.pixels, frame.wide});
  Kernel kernel = builder.kernel("channels_last");
  kernel.reads("X", view).writes("OUT", to.view);
  const auto number = [&](const char* name, std::size_t value) { kernel.number(name, signed_of(value)); };
  number("OUT_H", to.lines);
  number("OUT_W", to.pixels);
  number("LEFT_PAD", frame.left);
  number("TOP_PAD", frame.top);
  number("IN_H", from.lines);
  number("IN_W", from.pixels);
  number("CHANNELS", from.channels);
  number("WIDE", frame.wide);
  kernel.number("S_IMAGE", from.image_step)
      .number("S_CHANNEL", view.strides[1])
      .number("S_LINE", from.line_step)
      .number("S_PIXEL", from.pixel_step);
  return kernel;
}

}  // namespace

Frame frame_of(const Picture& from, const Spatial3& window) {
  const auto before = [&](std::size_t axis) {
    return static_cast<std::size_t>(std::max<std::int64_t>(window.window[axis].pad_begin, 0));
  };
  const auto behind = [&](std::size_t axis, std::size_t in) {
    const WindowAxis& one = window.window[axis];
    const std::int64_t last = signed_of(window.out[axis] - 1) * one.stride + (one.kernel - 1) * one.dilation + 1;
    return static_cast<std::size_t>(std::max<std::int64_t>(last - one.pad_begin - signed_of(in), 0));
  };
  Frame frame;
  frame.left = before(2);
  frame.top = before(1);
  frame.right = behind(2, from.pixels);
  frame.bottom = behind(1, from.lines);
  return frame;
}

Picture framed_numbers(Builder& builder, const Node& node, const View& view, const Frame& frame, std::int32_t zero) {
  const Picture from = picture_of(view);
  Picture to;
  Kernel kernel = begin_framing(builder, view, from, frame, view.type, to);
  const std::size_t count = to.images * to.lines * to.pixels * frame.wide;
  kernel.number("COUNT", signed_of(count)).number("ZERO", zero).text(kernels::framed_numbers);
  kernel.over({count}, {std::min<std::size_t>(builder.target().max_group, 128)});
  builder.launch(std::move(kernel), node);
  return to;
}

Picture framed(Builder& builder, const Node& node, const View& view, const Frame& frame) {
  const Picture from = picture_of(view);
  Picture to;
  Kernel kernel = begin_framing(builder, view, from, frame, builder.target().reals(), to);
  if (takes_register_tiles(builder.target())) {
    const bool has_runs = from.channels == frame.wide && view.strides[1] == 1;
    // A work-item costs about a microsecond; every unit gets several.
    const std::size_t enough = (std::size_t{1} << 14) / (to.pixels * frame.wide) + 1,
                      lines = std::min(enough, to.lines * to.images / (8 * builder.target().compute_units) + 1);
    kernel.define("HAS_RUNS", has_runs ? 1 : 0).number("LINES", signed_of(lines)).text(kernels::framed_lines);
    if (has_runs) kernel.number("RUNS", signed_of(from.pixel_step == to.pixel_step ? 1 : from.pixels));
    kernel.over({(to.lines + lines - 1) / lines, to.images}, {1, 1});
  } else {
    const std::size_t count = to.images * to.lines * to.pixels;
    kernel.number("COUNT", signed_of(count))
        .define("IS_HALF", to.view.type == ElementType::kF16 ? 1 : 0)
        .text(kernels::channels_last);
    kernel.over({count}, {std::min<std::size_t>(builder.target().max_group, 128)});
  }
  builder.launch(std::move(kernel), node);
  return to;
}

Picture wide_picture(Builder& builder, const Node& node, const View& view) {
  if (is_wide_picture(builder, view)) return picture_of(view);
  return framed(builder, node, view, {.wide = whole_chunks(view.shape[1])});
}

AxisGroups picture_groups(const View& out) {
  AxisGroups groups{{0}, {}, {1}};
  for (std::size_t axis = 2; axis < out.shape.size(); ++axis) groups[1].push_back(axis);
  return groups;
}

Producer wide_picture_producer(Builder& builder, const Node& node, const char* kind, const Picture& data,
                               std::size_t pixels, const char* text, std::function<void(Kernel&)> prepare) {
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = true;
  producer.emit = [=, &builder, prepare = std::move(prepare)](const ExpressionRef& root, const View& out) {
    Kernel kernel = builder.kernel(kind);
    kernel.reads("X", data.view);
    builder.add_wide_store(kernel, root, out, picture_groups(out));
    prepare(kernel);
    kernel.number("CHANNELS", static_cast<std::int64_t>(data.channels))
        .number("X_IMAGE", data.image_step)
        .number("X_LINE", data.line_step)
        .number("X_PIXEL", data.pixel_step);
    kernel.text(text);
    kernel.over({pixels * data.channels / kChunk, data.images},
                {std::min<std::size_t>(builder.target().max_group, 128), 1});
    builder.launch(std::move(kernel), *self);
  };
  return producer;
}

void set_wide_picture(Builder& builder, const Node& node, const char* kind, const Picture& data, std::size_t pixels,
                      const char* text, std::function<void(Kernel&)> prepare) {
  builder.set(node, 0, node.get_output_element_type(0),
              wide_picture_producer(builder, node, kind, data, pixels, text, std::move(prepare)));
}

bool is_planar(const Spatial3& window) {
  const WindowAxis& depth = window.window[0];
  return window.in[0] == 1 && window.out[0] == 1 && depth.kernel == 1;
}

}  // namespace tenon::inline v1::gpu_device
