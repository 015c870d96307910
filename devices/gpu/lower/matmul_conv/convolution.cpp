// SPDX-License-Identifier: Apache-2.0
// Convolutions: as products of matrices whose right side is read through the window, or directly.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matmul.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix_convolution.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/quantized_matmul.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/register_tiles.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

struct Convolution {
  View data, filters;  ///< Packed.
  bool is_transposed = false;
  Spatial3 window;
  std::size_t images = 0, groups = 1, in_channels = 0, out_channels = 0;  ///< Channels of a group.
  std::size_t out_pixels() const { return window.out[0] * window.out[1] * window.out[2]; }
  /// Each weight meets each pixel of the output; of a transposed one, of the input.
  std::uint64_t multiply_adds() const {
    const std::size_t pixels =
        is_transposed ? element_count(data.shape) / (data.shape[0] * data.shape[1]) : out_pixels();
    return std::uint64_t{images} * pixels * element_count(filters.shape);
  }
  std::size_t taps() const {
    return static_cast<std::size_t>(window.window[0].kernel * window.window[1].kernel * window.window[2].kernel);
  }
};

/// X and W, the window's numbers, and STORE(value, n, c, pixel).
Kernel begin_kernel(Builder& builder, const std::string& kind, const Convolution& what, const ExpressionRef& root,
                    const View& out) {
  Kernel kernel = builder.kernel(kind);
  kernel.reads("X", what.data).reads("W", what.filters);
  AxisGroups groups{{0}, {1}, {}};
  for (std::size_t axis = 2; axis < out.shape.size(); ++axis) groups[2].push_back(axis);
  builder.add_store(kernel, root, out, groups);
  add_window(kernel, what.window);
  kernel.multiply_adds(what.multiply_adds());
  kernel.number("GROUPS", static_cast<std::int64_t>(what.groups))
      .number("IC", static_cast<std::int64_t>(what.in_channels))
      .number("OC", static_cast<std::int64_t>(what.out_channels));
  return kernel;
}

/// [OC, IC * taps] by [IC * taps, pixels], for each image and group.
void emit_product(Builder& builder, const Node& node, const Convolution& what, const ExpressionRef& root,
                  const View& out) {
  Kernel kernel = begin_kernel(builder, "convolution", what, root, out);
  kernel.define("LEFT(batch, m, k)", "W(((batch) % GROUPS * OC + (m)) * K + (k))");
  const bool is_plain =
      what.taps() == 1 && std::all_of(what.window.window, what.window.window + 3, [](const auto& axis) {
        return axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
      });
  if (is_plain) {
    kernel.define("RIGHT(batch, k, n)", "X(((batch) * IC + (k)) * N + (n))");
    kernel.define("RIGHT16(batch, k, n)",
                  what.data.type == ElementType::kBf16 ? "(float16)(0)" : "X_LOAD16(((batch) * IC + (k)) * N + (n))");
  } else {
    // Tap and pixel of a place in the product; 0 outside.
    kernel.define("TAP_X(k, n)", "((n) % OW * SW - PW + (k) % KW * DW)")
        .define("TAP_Y(k, n)", "((n) / OW % OH * SH - PH + (k) / KW % KH * DH)")
        .define("TAP_Z(k, n)", "((n) / (OW * OH) * SD - PD + (k) / (KW * KH) % KD * DD)")
        .define("IS_IN(x, extent)", "((uint)(x) < (uint)(extent))")
        .define(
            "RIGHT(batch, k, n)",
            "(IS_IN(TAP_X(k, n), IW) && IS_IN(TAP_Y(k, n), IH) && IS_IN(TAP_Z(k, n), ID) ? X(((((batch) * IC + (k) / "
            "(KW * KH * KD)) * ID + TAP_Z(k, n)) * IH + TAP_Y(k, n)) * IW + TAP_X(k, n)) : 0)");
  }
  kernel.define("STORE_AT(value, batch, m, n)", "STORE(value, (batch) / GROUPS, (batch) % GROUPS * OC + (m), n)");
  Product product;
  product.type = what.data.type;
  product.m = what.out_channels;
  product.n = what.out_pixels();
  product.k = what.in_channels * what.taps();
  product.batch = what.images * what.groups;
  launch_product(builder, node, std::move(kernel), product, is_plain ? "rows" : text_of(what.window));
}

/// Rows of 16 pixels, several channels at a time.
void emit_rows(Builder& builder, const Node& node, const Convolution& what, const ExpressionRef& root,
               const View& out) {
  Kernel kernel = begin_kernel(builder, "convolution", what, root, out);
  std::size_t channels = 8;
  while (what.out_channels % channels != 0) channels /= 2;
  kernel.define("CHANNELS", static_cast<std::int64_t>(channels)).text(kernels::convolution);
  const std::size_t blocks = (what.window.out[2] + 15) / 16;
  kernel.over(
      {blocks * what.window.out[1] * what.window.out[0], what.groups * what.out_channels / channels, what.images},
      {1, 1, 1});
  builder.launch(std::move(kernel), node);
}

/// One element a work-item: any type.
void emit_elements(Builder& builder, const Node& node, const Convolution& what, const ExpressionRef& root,
                   const View& out, const char* name, std::string_view text) {
  Kernel kernel = begin_kernel(builder, name, what, root, out);
  kernel.define("ACC", accumulator_name(what.data.type)).text(text);
  kernel.over({what.out_pixels(), what.groups * what.out_channels, what.images},
              {std::min<std::size_t>(builder.target().max_group, 64), 1, 1});
  builder.launch(std::move(kernel), node);
}

template <bool kGrouped, bool kTransposed>
void lower_convolution(Builder& builder, const Node& node) {
  if (!kTransposed && lower_number_convolution(builder, node, kGrouped)) return;
  if (!kTransposed && lower_matrix_convolution(builder, node, kGrouped)) return;
  if (!kTransposed && (kGrouped ? lower_register_depthwise : lower_register_convolution)(builder, node)) return;
  if (kTransposed && !kGrouped && lower_register_unfold(builder, node)) return;
  Convolution what;
  what.data = builder.packed(node.input_value(0));
  what.filters = builder.packed(node.input_value(1));
  what.window = sliding_window(node);
  what.is_transposed = kTransposed;
  const Shape& filters = what.filters.shape;
  constexpr std::size_t kFirst = kGrouped ? 1 : 0;
  what.images = what.data.shape[0];
  what.groups = kGrouped ? filters[0] : 1;
  what.out_channels = filters[kFirst + (kTransposed ? 1 : 0)];
  what.in_channels = filters[kFirst + (kTransposed ? 0 : 1)];
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, what](const ExpressionRef& root, const View& out) {
    const bool is_narrow = what.data.type == ElementType::kF32 || what.data.type == ElementType::kF16;
    if (kTransposed)
      return emit_elements(builder, *self, what, root, out, "transposed_convolution", kernels::transposed_convolution);
    const bool is_depthwise = what.in_channels == 1 && what.out_channels <= 4;
    if (builder.target().is_cpu && is_narrow && what.window.out[2] >= 8)
      return emit_rows(builder, *self, what, root, out);
    if (!builder.target().is_cpu && is_narrow && !is_depthwise) return emit_product(builder, *self, what, root, out);
    emit_elements(builder, *self, what, root, out, "convolution", kernels::convolution_elements);
  };
  builder.set(node, 0, what.data.type, std::move(producer));
}

}  // namespace

void register_convolution(LoweringTable& table) {
  table["Convolution"] = {lower_convolution<false, false>};
  table["GroupConvolution"] = {lower_convolution<true, false>};
  table["ConvolutionBackpropData"] = {lower_convolution<false, true>};
  table["GroupConvolutionBackpropData"] = {lower_convolution<true, true>};
}

}  // namespace tenon::inline v1::gpu_device
