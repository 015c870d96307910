// SPDX-License-Identifier: Apache-2.0
// Chooses how a convolution is read and computed.
#include <tenon/devices/gpu/lower/matmul_conv/matrix_convolution.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/weights.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Each weight meets each pixel of the output.
std::uint64_t multiply_adds(std::size_t images, const Spatial3& window, std::size_t weights) {
  return std::uint64_t{images} * window.out[1] * window.out[2] * weights;
}

}  // namespace

void emit_window_product(Builder& builder, const Node& node, const WindowProduct& what, const ExpressionRef& root,
                         const View& out) {
  const WindowAxis &rows = what.window.window[1], &columns = what.window.window[2];
  Kernel kernel = builder.kernel("convolution");
  kernel.reads("A", what.data.view).reads("B", what.filters);
  const bool is_wide = what.out_channels % kChunk == 0;
  if (is_wide)
    builder.add_wide_store(kernel, root, out, picture_groups(out));
  else
    builder.add_store(kernel, root, out, picture_groups(out));
  MatrixProduct product{what.data.view.type};
  const std::size_t pixels = what.window.out[1] * what.window.out[2];
  product.m = what.data.images * pixels;
  product.n = what.out_channels;
  product.batch = what.groups;
  product.has_weights = builder.is_constant(what.filters);
  product.k = static_cast<std::size_t>(rows.kernel * columns.kernel) * what.channels;
  const auto one = [](const WindowAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0; };
  // Each pixel is a row of the product: a run of several taps, whose window has one, ends before the line does.
  const bool is_plain =
      one(rows) && one(columns) && what.window.out[1] == what.data.lines && what.window.out[2] == what.data.pixels &&
      what.data.line_step == what.data.pixel_step * signed_of(what.data.pixels) &&
      (what.data.images == 1 || what.data.image_step == what.data.line_step * signed_of(what.data.lines));
  add_window(kernel, what.window);
  kernel.multiply_adds(multiply_adds(what.data.images, what.window, what.weights));
  kernel.define("IS_PLAIN", is_plain ? 1 : 0);
  const bool is_grouped = what.groups > 1;
  kernel.define("A_BATCH(batch)", is_grouped ? "((batch) * CHANNELS)" : "0")
      .define("B_BATCH(batch)", is_grouped ? "((batch) * N * K)" : "0")
      .define("OUT_CHANNEL(batch, n)", is_grouped ? "((batch) * N + (n))" : "n");
  if (is_plain) kernel.define("A_PLACE(m)", "((m) * A_PIXEL)");
  kernel.number("A_IMAGE", what.data.image_step)
      .number("A_LINE", what.data.line_step)
      .number("A_PIXEL", what.data.pixel_step)
      .number("CHANNELS", signed_of(what.channels))
      .number("B_ROW", signed_of(product.k))
      .number("PIXELS", signed_of(pixels));
  kernel.define("STORE_AT(value, batch, m, n)", "STORE(value, (m) / PIXELS, (m) % PIXELS, OUT_CHANNEL(batch, n))");
  kernel.define("STORE8_AT(value, batch, m, n)", "STORE8(value, (m) / PIXELS, (m) % PIXELS, OUT_CHANNEL(batch, n))");
  launch_matrix(builder, node, kernel, product, is_plain ? "rows" : text_of(what.window));
}

namespace {

/// How a convolution of few channels is read: a row of its window is one run of pixels of 4 channels, in a picture with a
/// frame, so that no tap is outside. Runs begin at whole chunks: of f16, if the window moves by an even number of pixels.
bool reads_runs(const Shape& data, const Spatial3& window, ElementType type) {
  const WindowAxis& columns = window.window[2];
  const bool is_whole = type == ElementType::kF32 || columns.stride % 2 == 0;
  // A frame only adds.
  const bool is_framed = columns.pad_begin >= 0 && window.window[1].pad_begin >= 0;
  return data[1] <= 4 && is_whole && is_framed && columns.dilation == 1 && columns.kernel > 1 &&
         window.window[1].kernel <= kTapBits;
}

WindowProduct runs_product(Builder& builder, const Node& node, const View& data, const Tensor& filters,
                           const Spatial3& window) {
  const WindowAxis &rows = window.window[1], &columns = window.window[2];
  const std::size_t run = whole_chunks(static_cast<std::size_t>(columns.kernel) * 4);
  const Picture from = picture_of(data);
  // The last window's run may reach beyond the padding.
  const auto reach = [](const WindowAxis& axis, std::size_t out, std::int64_t length, std::size_t in) {
    return static_cast<std::size_t>(
        std::max<std::int64_t>(signed_of(out - 1) * axis.stride + length - axis.pad_begin - signed_of(in), 0));
  };
  Frame frame;
  frame.wide = 4;
  frame.left = static_cast<std::size_t>(columns.pad_begin);
  frame.top = static_cast<std::size_t>(rows.pad_begin);
  frame.right = reach(columns, window.out[2], signed_of(run / 4), from.pixels);
  // Lines begin at whole chunks.
  frame.right += (from.pixels + frame.left + frame.right) % 2;
  frame.bottom = reach(rows, window.out[1], (rows.kernel - 1) * rows.dilation + 1, from.lines);
  WindowProduct what;
  what.data = framed(builder, node, data, frame);
  what.filters = builder.hold_packed(
      filters, "rows of filters",
      [run, type = builder.target().reals()](const Tensor& source) { return pack_filter_rows(source, type, run); });
  what.window = window;
  what.window.in[1] = what.data.lines;
  what.window.in[2] = what.data.pixels;
  what.window.window[1].pad_begin = what.window.window[2].pad_begin = 0;
  what.window.window[2].kernel = 1;
  what.channels = run;
  return what;
}

/// Where taps are too many to be counted, a row of the window is read as one run of pixels with all channels, of a picture with a frame.
bool can_read_whole_runs(const Spatial3& window) {
  const WindowAxis &rows = window.window[1], &columns = window.window[2];
  return rows.kernel <= kTapBits && columns.dilation == 1 && rows.pad_begin >= 0 && columns.pad_begin >= 0;
}

/// Such a picture, and the window with one tap for each of its rows.
void read_whole_runs(Builder& builder, const Node& node, const View& data, WindowProduct& what) {
  const Picture from = picture_of(data);
  Frame frame = frame_of(from, what.window);
  const bool has_frame = frame.left + frame.right + frame.top + frame.bottom > 0;
  frame.wide = whole_chunks(from.channels);
  what.data = !has_frame && is_wide_picture(builder, data) && from.pixel_step == signed_of(frame.wide)
                  ? from
                  : framed(builder, node, data, frame);
  WindowAxis &rows = what.window.window[1], &columns = what.window.window[2];
  what.window.in[1] = what.data.lines;
  what.window.in[2] = what.data.pixels;
  rows.pad_begin = rows.pad_end = columns.pad_begin = columns.pad_end = 0;
  what.channels = frame.wide * static_cast<std::size_t>(columns.kernel);
  columns.kernel = 1;
}

void lower_depthwise(Builder& builder, const Node& node, const Picture& data, const View& filters,
                     const Spatial3& window) {
  set_wide_picture(
      builder, node, "depthwise", data, window.out[1] * window.out[2], kernels::depthwise, [=](Kernel& kernel) {
        kernel.reads("W", filters);
        kernel.define("TOTAL", "float").define("ZERO", 0).define("MULTIPLY_ADD(x, y, sum)", "fma(x, y, sum)");
        add_window(kernel, window);
        kernel.multiply_adds(multiply_adds(data.images, window, element_count(filters.shape)));
      });
}

}  // namespace

bool lower_matrix_convolution(Builder& builder, const Node& node, bool is_grouped) {
  if (!takes_matrices(builder.target()) || node.get_output_element_type(0) != element::f32) return false;
  const Tensor filters = builder.constant(node.input_value(1));
  const Spatial3 window = sliding_window(node);
  if (!filters || !is_planar(window)) return false;
  const std::size_t rank = filters.shape().size();
  const bool has_lines = rank == (is_grouped ? 5u : 4u);
  if (!has_lines && rank != (is_grouped ? 4u : 3u)) return false;
  const View data = builder.view(node.input_value(0));
  if (is_grouped) {
    // [groups, 1, 1, rows, columns]: one channel each.
    const Shape& shape = filters.shape();
    if (shape[1] != 1 || shape[2] != 1 || shape[0] % kChunk != 0) return false;
    const View packed = builder.hold_packed(
        filters, "filters of channels",
        [type = builder.target().reals()](const Tensor& source) { return pack_channel_filters(source, type); });
    lower_depthwise(builder, node, wide_picture(builder, node, data), packed, window);
    return true;
  }
  WindowProduct what;
  if (reads_runs(data.shape, window, builder.target().reals())) {
    what = runs_product(builder, node, data, filters, window);
  } else {
    const bool has_runs = window.window[1].kernel * window.window[2].kernel > kTapBits;
    if (has_runs && !can_read_whole_runs(window)) return false;
    what.window = window;
    if (has_runs) {
      read_whole_runs(builder, node, data, what);
    } else {
      what.data = wide_picture(builder, node, data);
      what.channels = what.data.channels;
    }
    what.filters = builder.hold_packed(filters, "filters",
                                       [channels = whole_chunks(data.shape[1]), type = builder.target().reals()](
                                           const Tensor& source) { return pack_filters(source, type, channels); });
  }
  what.out_channels = filters.shape()[0];
  what.weights = element_count(filters.shape());
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = true;
  producer.emit = [&builder, self, what](const ExpressionRef& root, const View& out) {
    emit_window_product(builder, *self, what, root, out);
  };
  builder.set(node, 0, node.get_output_element_type(0), std::move(producer));
  return true;
}

}  // namespace tenon::inline v1::gpu_device
