// SPDX-License-Identifier: Apache-2.0
// Chooses register tiles.
#include <tenon/devices/gpu/lower/matmul_conv/register_tiles.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/weights.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

std::size_t across(std::size_t extent, std::size_t size) { return (extent + size - 1) / size; }

/// What a work-item computes.
struct RegisterTiles {
  std::size_t rows, pixels, blocks, tiles;
  std::string name() const {
    return std::to_string(rows) + "x" + std::to_string(pixels) + " pixels by " + std::to_string(blocks) + " vectors, " +
           std::to_string(tiles) + " tiles";
  }
};

struct RegisterProduct {
  Picture data;  ///< With its padding.
  View filters;  ///< As pack_filter_blocks() gives them.
  Spatial3 window;
  std::size_t channels = 0, out_channels = 0;
  std::size_t up_y = 1, up_x = 1;  ///< Pixels of the result for each of the product.
  std::uint64_t operations() const {
    return std::uint64_t{data.images} * window.out[1] * window.out[2] * channels * out_channels * up_y * up_x *
           static_cast<std::uint64_t>(window.window[1].kernel * window.window[2].kernel);
  }
  std::size_t vectors(const Target& target) const { return across(out_channels, target.vector_floats); }
};

/// Registers of sums; some are left for the operands.
std::size_t most_sums(const Target& target) { return target.vector_floats >= 16 ? 28 : 12; }

/// The best first: those that compute the least in vain, and read the least for each multiplication.
/// @param moves  Shapes that move share few widths, each of which is a program.
std::vector<RegisterTiles> register_tiles(const RegisterProduct& what, const Target& target, bool moves) {
  const auto is_shared = [&](std::size_t wide) {
    std::size_t shared = most_sums(target);
    while (shared > wide) shared /= 2;
    return shared == wide;
  };
  const std::size_t lines = what.window.out[1], pixels = what.window.out[2], vectors = what.vectors(target),
                    all_vectors = vectors * what.up_y * what.up_x;
  struct Rated {
    RegisterTiles tiles;
    double cost;
  };
  std::vector<Rated> rated;
  for (std::size_t blocks = 1; blocks <= std::min<std::size_t>(vectors, 8); ++blocks) {
    if (vectors % blocks != 0) continue;
    for (std::size_t rows = 1; rows <= std::min<std::size_t>(lines, 4); ++rows) {
      const std::size_t most = most_sums(target) / blocks / rows;
      for (std::size_t wide = 1; wide <= std::min(pixels, most); ++wide) {
        if (rows > 1 && wide != pixels) continue;  // Several lines only where they are short.
        if (moves && !is_shared(wide)) continue;
        const double sums = static_cast<double>(rows * wide * blocks);
        // A step of the innermost loop: multiplications, or loads, of which as many start at once, and some for the loop; no fewer than
        // the latency of a sum allows.
        const double step = std::max({sums, static_cast<double>(rows * wide + blocks), 8.0}) + 1;
        const double count = static_cast<double>(across(lines, rows) * across(pixels, wide) * (all_vectors / blocks));
        rated.push_back({{rows, wide, blocks, 1}, count * step});
      }
    }
  }
  std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) { return a.cost < b.cost; });
  constexpr std::size_t kMost = 4;
  std::vector<RegisterTiles> all;
  for (const Rated& one : rated) {
    if (all.size() == kMost) break;
    RegisterTiles tiles = one.tiles;
    // A work-item costs about a microsecond; every unit gets several.
    constexpr std::uint64_t kEnough = 1u << 19;
    const std::size_t count = across(lines, tiles.rows) * across(pixels, tiles.pixels),
                      items = count * (all_vectors / tiles.blocks) * what.data.images;
    const auto of_one = std::max<std::uint64_t>(what.operations() / items, 1);
    tiles.tiles =
        std::clamp<std::size_t>(std::min<std::size_t>(kEnough / of_one, items / (8 * target.compute_units)), 1, count);
    all.push_back(tiles);
  }
  return all;
}

Kernel register_kernel(Builder& builder, const RegisterProduct& what, const ExpressionRef& root, const View& out,
                       const AxisGroups& groups, const RegisterTiles& tiles) {
  const std::size_t wide = builder.target().vector_floats;
  Kernel kernel = builder.kernel("convolution");
  kernel.reads("X", what.data.view).reads("W", what.filters);
  const bool is_whole = what.out_channels % wide == 0;
  if (is_whole)
    builder.add_vector_store(kernel, root, out, groups, wide);
  else
    builder.add_store(kernel, root, out, groups);
  add_window(kernel, what.window);
  kernel.number("X_IMAGE", what.data.image_step)
      .number("X_LINE", what.data.line_step)
      .number("X_PIXEL", what.data.pixel_step)
      .number("IC", signed_of(what.channels))
      .number("OC", signed_of(what.out_channels));
  const std::size_t columns = across(what.window.out[2], tiles.pixels), lines = across(what.window.out[1], tiles.rows),
                    vectors = what.vectors(builder.target());
  const auto define = [&](const char* name, std::size_t value) { kernel.define(name, signed_of(value)); };
  define("ROWS", tiles.rows);
  define("PIXELS", tiles.pixels);
  define("BLOCKS", tiles.blocks);
  define("WIDE", wide);
  define("UP_Y", what.up_y);
  define("UP_X", what.up_x);
  define("VECTORS", vectors);
  define("IS_WHOLE", is_whole ? 1 : 0);
  kernel.number("TILES", signed_of(tiles.tiles)).number("ACROSS", signed_of(columns)).number("DOWN", signed_of(lines));
  kernel.define("FLOATS", "float" + std::to_string(wide));
  kernel.multiply_adds(what.operations());
  kernel.text(kernels::register_tiles);
  kernel.over({across(columns * lines, tiles.tiles), vectors * what.up_y * what.up_x / tiles.blocks, what.data.images},
              {1, 1, 1});
  return kernel;
}

void emit_register_product(Builder& builder, const Node& node, const RegisterProduct& what, const ExpressionRef& root,
                           const View& out, const AxisGroups& groups) {
  std::vector<Candidate> candidates;
  for (const RegisterTiles& tiles : register_tiles(what, builder.target(), !builder.is_special()))
    candidates.push_back(
        {tiles.name(), [&, tiles] { return register_kernel(builder, what, root, out, groups, tiles); }});
  builder.launch_best(node,
                      "registers " + std::to_string(what.data.images) + "x" + std::to_string(what.channels) + "x" +
                          std::to_string(what.out_channels) + ", " + text_of(what.window) + ", up by " +
                          std::to_string(what.up_y) + "x" + std::to_string(what.up_x),
                      candidates);
}

void set_register_product(Builder& builder, const Node& node, const RegisterProduct& what) {
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = true;
  producer.emit = [&builder, self, what](const ExpressionRef& root, const View& out) {
    emit_register_product(builder, *self, what, root, out, picture_groups(out));
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
}

/// Channels last, with the window's padding around it: the view itself where there is none.
Picture padded_picture(Builder& builder, const Node& node, const View& view, const Spatial3& window) {
  const Picture from = picture_of(view);
  Frame frame = frame_of(from, window);
  const bool is_bare = frame.left + frame.right + frame.top + frame.bottom == 0;
  if (is_bare && view.type == ElementType::kF32 && is_channels_last(view)) return from;
  frame.wide = from.channels <= 4 ? 4 : whole_chunks(from.channels);
  return framed(builder, node, view, frame);
}

/// A picture of which each place has its channels side by side.
Picture bare_picture(Builder& builder, const Node& node, const View& view) {
  if (view.type == ElementType::kF32 && is_channels_last(view)) return picture_of(view);
  return framed(builder, node, view, {.wide = whole_chunks(view.shape[1])});
}

bool suits_registers(const Builder& builder, const Node& node) {
  return takes_register_tiles(builder.target()) && node.get_output_element_type(0) == element::f32;
}

bool has_rank(const Tensor& filters, std::size_t least) {
  return filters && (filters.shape().size() == least || filters.shape().size() == least + 1);
}

}  // namespace

bool lower_register_convolution(Builder& builder, const Node& node) {
  if (!suits_registers(builder, node)) return false;
  const Tensor filters = builder.constant(node.input_value(1));
  const Spatial3 window = sliding_window(node);
  if (!is_planar(window) || !has_rank(filters, 3)) return false;
  if (window.window[1].pad_begin < 0 || window.window[2].pad_begin < 0) return false;
  RegisterProduct what;
  what.channels = filters.shape()[1];
  what.out_channels = filters.shape()[0];
  what.data = padded_picture(builder, node, builder.view(node.input_value(0)), window);
  what.filters = builder.hold_packed(
      filters, "filters in vectors",
      [wide = builder.target().vector_floats](const Tensor& source) { return pack_filter_blocks(source, wide); });
  what.window = window;
  set_register_product(builder, node, what);
  return true;
}

bool lower_register_unfold(Builder& builder, const Node& node) {
  if (!suits_registers(builder, node)) return false;
  const Tensor filters = builder.constant(node.input_value(1));
  const Spatial3 window = sliding_window(node);
  if (!is_planar(window) || !has_rank(filters, 3)) return false;
  for (std::size_t axis = 1; axis < 3; ++axis) {
    const WindowAxis& one = window.window[axis];
    if (one.kernel != one.stride || one.pad_begin != 0 || (one.kernel > 1 && one.dilation != 1) ||
        window.out[axis] != window.in[axis] * static_cast<std::size_t>(one.stride))
      return false;
  }
  RegisterProduct what;
  what.channels = filters.shape()[0];
  what.out_channels = filters.shape()[1];
  what.up_y = static_cast<std::size_t>(window.window[1].kernel);
  what.up_x = static_cast<std::size_t>(window.window[2].kernel);
  what.data = bare_picture(builder, node, builder.view(node.input_value(0)));
  what.filters = builder.hold_packed(
      filters, "transposed filters in vectors",
      [wide = builder.target().vector_floats](const Tensor& source) { return pack_unfolding_blocks(source, wide); });
  for (std::size_t axis = 1; axis < 3; ++axis) what.window.in[axis] = what.window.out[axis] = window.in[axis];
  set_register_product(builder, node, what);
  return true;
}

bool lower_register_depthwise(Builder& builder, const Node& node) {
  if (!suits_registers(builder, node)) return false;
  const Tensor filters = builder.constant(node.input_value(1));
  const Spatial3 window = sliding_window(node);
  // [groups, 1, 1, rows, columns]: one channel each.
  if (!is_planar(window) || !has_rank(filters, 4) || filters.shape()[1] != 1 || filters.shape()[2] != 1) return false;
  const std::size_t channels = filters.shape()[0];
  if (channels % 8 != 0) return false;
  const std::size_t wide = channels % builder.target().vector_floats == 0 ? builder.target().vector_floats : 8;
  const Picture data = bare_picture(builder, node, builder.view(node.input_value(0)));
  const View packed = builder.hold_packed(filters, "filters of channels", [](const Tensor& source) {
    return pack_channel_filters(source, ElementType::kF32);
  });
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = true;
  producer.emit = [=, &builder](const ExpressionRef& root, const View& out) {
    Kernel kernel = builder.kernel("depthwise");
    kernel.reads("X", data.view).reads("W", packed);
    builder.add_vector_store(kernel, root, out, picture_groups(out), wide);
    add_window(kernel, window);
    const std::size_t lines = window.out[1], of_line = window.out[2] * channels;
    // Some microseconds for a work-item, and several of these for each unit.
    const std::size_t together = std::clamp<std::size_t>(512 * wide / std::max<std::size_t>(window.out[2] * wide, 1), 1,
                                                         std::max<std::size_t>(lines / 4, 1));
    kernel.number("CHANNELS", signed_of(channels))
        .number("X_IMAGE", data.image_step)
        .number("X_LINE", data.line_step)
        .number("X_PIXEL", data.pixel_step)
        .define("WIDE", signed_of(wide))
        .number("LINES", signed_of(together))
        .define("FLOATS", "float" + std::to_string(wide));
    kernel.multiply_adds(std::uint64_t{data.images} * lines * of_line * element_count(filters.shape()) / channels);
    kernel.text(kernels::depthwise_rows);
    kernel.over({channels / wide, across(lines, together), data.images}, {1, 1, 1});
    builder.launch(std::move(kernel), *self);
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
  return true;
}

bool lower_register_matmul(Builder& builder, const Node& node, const View& left, const Tensor& weights,
                           bool is_transposed) {
  const std::size_t rank = left.shape.size();
  if (!suits_registers(builder, node) || !weights || weights.shape().size() != 2 || rank < 2 ||
      node.get_output_shape(0).size() != rank || left.type != ElementType::kF32)
    return false;
  RegisterProduct what;
  what.channels = left.shape[rank - 1];
  what.out_channels = weights.shape()[is_transposed ? 0 : 1];
  std::size_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) rows *= left.shape[axis];
  if (rows == 0 || what.channels == 0) return false;
  // One line, of which each row of the left side is a pixel.
  what.data.view = left;
  if (!left.is_packed()) {
    what.data.view = builder.scratch(ElementType::kF32, left.shape);
    builder.copy(left, what.data.view, node);
  }
  what.data.images = 1;
  what.data.channels = what.channels;
  what.data.pixels = rows;
  what.data.pixel_step = signed_of(what.channels);
  what.data.line_step = what.data.image_step = signed_of(what.channels * rows);
  what.window.in[2] = what.window.out[2] = rows;
  const std::string how = is_transposed ? "right sides in vectors" : "right sides in vectors, transposed";
  what.filters =
      builder.hold_packed(weights, how, [is_transposed, wide = builder.target().vector_floats](const Tensor& source) {
        return pack_side_blocks(source, wide, is_transposed);
      });
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, what, rank](const ExpressionRef& root, const View& out) {
    AxisGroups groups{{}, {}, {rank - 1}};
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) groups[1].push_back(axis);
    emit_register_product(builder, *self, what, root, out, groups);
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
  return true;
}

}  // namespace tenon::inline v1::gpu_device
