// SPDX-License-Identifier: Apache-2.0
// Chooses kernels for 8-bit numbers: tiles, channel by channel, or one work-item for each result.
#include <tenon/devices/gpu/lower/matmul_conv/quantized_matmul.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/numbers.hpp>
#include <tenon/devices/gpu/lower/build/weights.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix_convolution.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix_matmul.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Numbers that are copied at once.
constexpr std::size_t kNumberChunk = 16;
std::size_t whole_number_chunks(std::size_t count) { return (count + kNumberChunk - 1) / kNumberChunk * kNumberChunk; }

struct Sides {
  planning::Quantization meaning;  ///< What the left side's numbers mean.
  planning::QuantizedWeights weights;
};

View without_meaning(View view) {
  view.numbers.reset();
  return view;
}

/// Whether whole chunks can be read along the innermost axis `axis`.
bool lies_in_chunks(const Builder& builder, const View& view, std::size_t axis) {
  if (!builder.is_wide(view, axis) || view.shape[axis] % kNumberChunk != 0 || view.place.offset % kNumberChunk != 0)
    return false;
  for (std::size_t i = 0; i < view.shape.size(); ++i)
    if (i != axis && view.shape[i] > 1 && view.strides[i] % signed_of(kNumberChunk) != 0) return false;
  return true;
}

/// One number for all, or one for each index along `axis` of the result.
ExpressionRef along(const View& table, const Shape& result, std::size_t axis) {
  View view = table;
  Shape lifted;
  for (std::size_t i = 0; i < result.size(); ++i) lifted.push_back(i == axis ? element_count(table.shape) : 1);
  reshape(view, lifted);
  return Expression::load(broadcast(view, result));
}

/// What sums of numbers mean, along `axis` of the result.
/// @param columns_last  How the weights' sums are found: along their last axis the result's axis runs; else along the outer ones.
/// @param centres  The zero point is still to be subtracted from the left numbers.
ExpressionRef meaning_of_sums(Builder& builder, const Sides& sides, const Shape& result, std::size_t axis,
                              bool columns_last, bool centres) {
  const Tensor& values = sides.weights.values;
  Tensor scales(ElementType::kF32, Shape{sides.weights.scales.size()});
  for (std::size_t i = 0; i < sides.weights.scales.size(); ++i)
    scales.data<float>()[i] = sides.weights.scales[i] * sides.meaning.scale;
  std::vector<ExpressionRef> operands{Expression::computed(ElementType::kI32),
                                      along(builder.hold(scales), result, axis)};
  const std::int32_t zero = sides.meaning.zero_point;
  if (!centres || zero == 0) return Expression::call(ElementType::kF32, "((float)$0 * $1)", std::move(operands));
  const std::string how =
      "sums of " + std::string(columns_last ? "rows" : "columns") + " times " + std::to_string(-zero);
  const View sums = builder.hold_packed(values, how, [&](const Tensor& source) {
    const Shape& shape = source.shape();
    const std::size_t columns = result[axis], inner = element_count(shape) / columns;
    Tensor made(ElementType::kF32, Shape{columns});
    const auto* numbers = source.data<std::int8_t>();
    for (std::size_t column = 0; column < columns; ++column) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < inner; ++i) sum += numbers[columns_last ? i * columns + column : column * inner + i];
      made.data<float>()[column] = static_cast<float>(-zero * sum);
    }
    return made;
  });
  operands.push_back(along(sums, result, axis));
  return Expression::call(ElementType::kF32, "(((float)$0 + $2) * $1)", std::move(operands));
}

/// A convolution in groups.
struct NumberConvolution {
  Sides sides;
  View data;  ///< With its meaning.
  Spatial3 window;
  std::size_t groups = 1, in_channels = 0, out_channels = 0;  ///< Channels of a group.
  Tensor filters;                                             ///< [groups * out_channels, in_channels, lines, pixels]
  std::size_t all_channels() const { return groups * in_channels; }
  bool has_padding() const {
    return std::any_of(window.window + 1, window.window + 3,
                       [](const WindowAxis& axis) { return axis.pad_begin != 0 || axis.pad_end != 0; });
  }
  bool can_be_framed() const { return window.window[1].pad_begin >= 0 && window.window[2].pad_begin >= 0; }
  std::uint64_t multiply_adds() const {
    return std::uint64_t{data.shape[0]} * window.out[1] * window.out[2] * element_count(filters.shape());
  }
};

/// Whether a row of the window is read as one run of pixels, of a picture with a frame: where taps are too many to be counted.
bool reads_runs(const NumberConvolution& what) {
  const WindowAxis &rows = what.window.window[1], &columns = what.window.window[2];
  return what.groups == 1 && rows.kernel * columns.kernel > kTapBits && rows.kernel <= kTapBits &&
         columns.dilation == 1;
}

bool suits_tiles(const Builder& builder, const NumberConvolution& what) {
  if (!takes_matrices(builder.target()) || !what.can_be_framed()) return false;
  if (what.window.window[1].kernel * what.window.window[2].kernel > kTapBits && !reads_runs(what)) return false;
  return what.groups == 1 || (what.in_channels % kNumberChunk == 0 && what.out_channels >= kChunk);
}

void set_tiles(Builder& builder, const Node& node, const NumberConvolution& what) {
  const std::int32_t zero = what.sides.meaning.zero_point;
  WindowProduct product;
  product.window = what.window;
  product.groups = what.groups;
  product.out_channels = what.out_channels;
  product.channels = what.groups == 1 ? whole_number_chunks(what.in_channels) : what.in_channels;
  product.weights = element_count(what.filters.shape());
  product.data = picture_of(without_meaning(what.data));
  // What copies tiles fills what is outside with zeros.
  const bool has_runs = reads_runs(what), has_frame = has_runs || (zero != 0 && what.has_padding());
  if (has_frame || !is_channels_last(what.data) || !lies_in_chunks(builder, what.data, 1)) {
    Frame frame = has_frame ? frame_of(product.data, what.window) : Frame{};
    frame.wide = product.channels * what.groups;
    product.data = framed_numbers(builder, node, product.data.view, frame, zero);
  }
  if (has_frame) {
    product.window.in[1] = product.data.lines;
    product.window.in[2] = product.data.pixels;
    for (std::size_t axis = 1; axis < 3; ++axis)
      product.window.window[axis].pad_begin = product.window.window[axis].pad_end = 0;
  }
  const std::size_t wide = product.channels;
  if (has_runs) {
    product.channels *= static_cast<std::size_t>(what.window.window[2].kernel);
    product.window.window[2].kernel = 1;
  }
  product.filters = builder.hold_packed(
      what.filters, "numbers of filters, " + std::to_string(wide),
      [channels = wide](const Tensor& source) { return pack_filters(source, ElementType::kI8, channels); });
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = true;
  producer.emit = [&builder, self, product](const ExpressionRef& root, const View& out) {
    emit_window_product(builder, *self, product, root, out);
  };
  builder.set(node, 0, std::move(producer),
              meaning_of_sums(builder, what.sides, node.get_output_shape(0), 1, false, true));
}

/// Channels last, as they lie or in a copy. @param in_chunks  8 at once can be read.
Picture picture_of_numbers(Builder& builder, const Node& node, const View& view, bool in_chunks) {
  const bool is_last = view.shape[1] == 1 ? view.is_packed() : is_channels_last(view);
  if (is_last && (!in_chunks || builder.is_wide(view, 1))) return picture_of(without_meaning(view));
  return framed_numbers(builder, node, without_meaning(view), {.wide = view.shape[1]}, 0);
}

void set_depthwise(Builder& builder, const Node& node, const NumberConvolution& what) {
  const Picture data = picture_of_numbers(builder, node, what.data, true);
  const View filters = builder.hold_packed(what.filters, "numbers of filters of channels", [](const Tensor& source) {
    const Shape& shape = source.shape();
    return pack_filters(source.reshaped(Shape{1, shape[0], shape[2], shape[3]}), ElementType::kI8, shape[0]);
  });
  const std::size_t pixels = what.window.out[1] * what.window.out[2];
  Producer producer =
      wide_picture_producer(builder, node, "depthwise", data, pixels, kernels::depthwise, [=](Kernel& kernel) {
        kernel.reads("W", filters);
        add_window(kernel, what.window);
        kernel.define("TOTAL", "int")
            .define("MULTIPLY_ADD(x, y, sum)", "((x) * (y) + (sum))")
            .number("ZERO", what.sides.meaning.zero_point);
        kernel.multiply_adds(what.multiply_adds());
      });
  builder.set(node, 0, std::move(producer),
              meaning_of_sums(builder, what.sides, node.get_output_shape(0), 1, false, false));
}

struct DirectProduct {
  Picture data;
  View filters;
  Spatial3 window;
  std::size_t groups = 1, in_channels = 0, out_channels = 0;
  std::int32_t zero = 0;
  std::uint64_t multiply_adds = 0;
};

void emit_direct(Builder& builder, const Node& node, const DirectProduct& what, const ExpressionRef& root,
                 const View& out, const AxisGroups& groups) {
  const Target& target = builder.target();
  Kernel kernel = builder.kernel("convolution");
  kernel.reads("X", what.data.view).reads("W", what.filters);
  builder.add_store(kernel, root, out, groups);
  add_window(kernel, what.window);
  const auto is_whole = [](std::int64_t step) { return step % 4 == 0; };
  // A CPU's compiler makes vectors of the plain loop.
  const bool has_words = !target.is_cpu && what.in_channels % 4 == 0 && is_whole(what.data.image_step) &&
                         is_whole(what.data.line_step) && is_whole(what.data.pixel_step) &&
                         what.data.view.place.offset % 4 == 0;
  const ElementType type = what.data.view.type;
  kernel.number("X_IMAGE", what.data.image_step)
      .number("X_LINE", what.data.line_step)
      .number("X_PIXEL", what.data.pixel_step)
      .number("IC", signed_of(what.in_channels))
      .number("OC", signed_of(what.out_channels))
      .number("ZERO", what.zero)
      .define("STORED", storage_name(type))
      .define("HAS_WORDS", has_words ? 1 : 0)
      .define("DOT_OF_ONES(right)", what.zero == 0 ? "0" : "DOT(0x01010101, right, 0)");
  if (has_words) define_dot(kernel, target, type);
  kernel.multiply_adds(what.multiply_adds).text(kernels::direct_numbers);
  const std::size_t pixels = what.window.out[1] * what.window.out[2];
  kernel.over({pixels, what.groups * what.out_channels, what.data.images},
              {std::min<std::size_t>(target.max_group, 64), 1, 1});
  builder.launch(std::move(kernel), node);
}

void set_direct(Builder& builder, const Node& node, const NumberConvolution& what) {
  DirectProduct product;
  product.data = picture_of_numbers(builder, node, what.data, false);
  product.filters = builder.hold_packed(
      what.filters, "numbers of filters",
      [channels = what.in_channels](const Tensor& source) { return pack_filters(source, ElementType::kI8, channels); });
  product.window = what.window;
  product.groups = what.groups;
  product.in_channels = what.in_channels;
  product.out_channels = what.out_channels;
  product.zero = what.sides.meaning.zero_point;
  product.multiply_adds = what.multiply_adds();
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = true;
  producer.emit = [&builder, self, product](const ExpressionRef& root, const View& out) {
    emit_direct(builder, *self, product, root, out, picture_groups(out));
  };
  builder.set(node, 0, std::move(producer),
              meaning_of_sums(builder, what.sides, node.get_output_shape(0), 1, false, false));
}

}  // namespace

bool lower_number_convolution(Builder& builder, const Node& node, bool is_grouped) {
  const auto* const meaning = builder.numbers().product(node);
  if (!meaning) return false;
  NumberConvolution what;
  what.sides = {*meaning, number_weights(node, builder.weights())};
  const Tensor& values = what.sides.weights.values;
  const Shape& given = values.shape();
  what.window = sliding_window(node);
  what.groups = is_grouped ? given[0] : 1;
  what.out_channels = given[is_grouped ? 1 : 0];
  what.in_channels = given[is_grouped ? 2 : 1];
  const auto lines = static_cast<std::size_t>(what.window.window[1].kernel),
             pixels = static_cast<std::size_t>(what.window.window[2].kernel);
  what.filters = values.reshaped(Shape{what.groups * what.out_channels, what.in_channels, lines, pixels});
  what.data = builder.numbers(node.input_value(0), *meaning);
  if (what.in_channels == 1 && what.out_channels == 1 && what.groups % kChunk == 0)
    set_depthwise(builder, node, what);
  else if (suits_tiles(builder, what))
    set_tiles(builder, node, what);
  else
    set_direct(builder, node, what);
  return true;
}

bool lower_number_matmul(Builder& builder, const Node& node) {
  const auto* const meaning = builder.numbers().product(node);
  if (!meaning) return false;
  const Sides sides{*meaning, number_weights(node, builder.weights())};
  const Tensor& values = sides.weights.values;
  const bool is_transposed = node.get_attributes().get_bool("transpose_b", false);
  const View data = builder.numbers(node.input_value(0), *meaning);
  const std::size_t rank = data.shape.size(), k = data.shape[rank - 1], n = values.shape()[is_transposed ? 0 : 1];
  const Node* const self = &node;
  const bool has_tiles = takes_matrices(builder.target());
  const std::size_t wide = has_tiles ? whole_number_chunks(k) : k;
  View left = without_meaning(data);
  if (has_tiles ? !lies_in_chunks(builder, data, rank - 1) : !data.is_packed()) {
    // What lies behind k meets weights of 0.
    Shape shape = data.shape;
    shape[rank - 1] = wide;
    left = builder.scratch(data.type, shape);
    View part = left;
    part.shape = data.shape;
    builder.copy(without_meaning(data), part, node);
  }
  View right = builder.hold_packed(
      values, (is_transposed ? "right numbers, " : "right numbers, transposed, ") + std::to_string(wide),
      [=](const Tensor& source) { return pack_right_sides(source, ElementType::kI8, is_transposed, wide); });
  const ExpressionRef root =
      meaning_of_sums(builder, sides, node.get_output_shape(0), rank - 1, !is_transposed, has_tiles);
  if (has_tiles) {
    Shape repeated = left.shape;
    repeated[rank - 2] = n;
    repeated[rank - 1] = wide;
    builder.set(node, 0, matrix_producer(builder, node, {left, {{broadcast(right, repeated)}}, wide}), root);
    return true;
  }
  // One line, of which each row of the left side is a pixel.
  DirectProduct product;
  std::size_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) rows *= left.shape[axis];
  product.data.view = left;
  product.data.images = 1;
  product.data.channels = product.in_channels = k;
  product.data.pixels = rows;
  product.data.pixel_step = signed_of(k);
  product.data.line_step = product.data.image_step = signed_of(k * rows);
  product.window.in[2] = product.window.out[2] = rows;
  product.filters = right;
  product.out_channels = n;
  product.zero = meaning->zero_point;
  product.multiply_adds = std::uint64_t{rows} * n * k;
  Producer producer;
  producer.emit = [&builder, self, product, rank](const ExpressionRef& tree, const View& out) {
    AxisGroups groups{{}, {}, {rank - 1}};
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) groups[1].push_back(axis);
    emit_direct(builder, *self, product, tree, out, groups);
  };
  builder.set(node, 0, std::move(producer), root);
  return true;
}

}  // namespace tenon::inline v1::gpu_device
