// SPDX-License-Identifier: Apache-2.0
// Pictures read at places that data names: grids, regions, displaced taps.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matmul.hpp>
#include <tenon/graph/ops/grid_sample.hpp>
#include <tenon/graph/ops/roi_align.hpp>
#include <tenon/graph/ops/roi_pooling.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

std::string real(double value) { return literal_text(ElementType::kF32, value); }

/// The picture's extents of [N, C, H, W].
void add_picture(Kernel& kernel, const Shape& shape) {
  kernel.number("CHANNELS", static_cast<std::int64_t>(shape[1]))
      .number("IH", static_cast<std::int64_t>(shape[2]))
      .number("IW", static_cast<std::int64_t>(shape[3]));
}

void lower_grid_sample(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), grid = builder.packed(node.input_value(1));
  const GridAxis rule(node.get_attributes(), data.shape[3]);
  set_whole(builder, node, "grid_sample", ElementType::kF32, kernels::grid_sample, [=](Kernel& kernel) {
    kernel.reads("X", data).reads("GRID", grid);
    add_picture(kernel, data.shape);
    kernel.number("PIXELS", static_cast<std::int64_t>(grid.shape[1] * grid.shape[2]));
    kernel.define("TAPS", rule.mode == GridAxis::Mode::kNearest    ? 1
                          : rule.mode == GridAxis::Mode::kBilinear ? 2
                                                                   : 4)
        .define("PADDING", static_cast<std::int64_t>(rule.padding))
        .define("ALIGNS_CORNERS", rule.aligns_corners ? 1 : 0);
  });
}

void lower_roi_align(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), boxes = builder.packed(node.input_value(1)),
             images = builder.packed(node.input_value(2));
  const RoiAlignRule rule(node.get_attributes());
  const std::string mode = node.get_attributes().get_string("mode");
  const Shape& out = node.get_output_shape(0);
  set_whole(builder, node, "roi_align", ElementType::kF32, kernels::roi_align, [=](Kernel& kernel) {
    kernel.reads("X", data).reads("ROI", boxes).reads("IMAGE", images);
    add_picture(kernel, data.shape);
    kernel.number("PICTURES", static_cast<std::int64_t>(data.shape[0]))
        .number("OH", static_cast<std::int64_t>(out[2]))
        .number("OW", static_cast<std::int64_t>(out[3]));
    kernel.define("BEFORE", real(static_cast<double>(rule.before)))
        .define("AFTER", real(static_cast<double>(rule.after)))
        .define("SCALE", real(static_cast<double>(rule.scale)))
        .define("IS_A_PIXEL_AT_LEAST", rule.is_a_pixel_at_least ? 1 : 0)
        .define("RATIO", rule.ratio)
        .define("MOST_SAMPLES", real(kMaxRoiSamples))
        .define("IS_MAX", mode == "max" ? 1 : 0)
        .define("IS_BY_CORNERS", mode == "max_corners" ? 1 : 0);
  });
}

/// How many regions come before the first of picture -1, which ends the list.
View listed_regions(Builder& builder, const Node& node, const View& regions) {
  const View listed = builder.scratch(ElementType::kI32, {1});
  Kernel kernel = builder.kernel("listed_regions");
  kernel.reads("ROI", regions).writes("OUT", listed);
  kernel.number("REGIONS", static_cast<std::int64_t>(regions.shape[0]));
  launch_each(
      builder, node, kernel, 1,
      "  int listed = 0;\n  while (listed < REGIONS && ROI(listed * 5) != -1) ++listed;\n  OUT_SET(0, listed);\n");
  return listed;
}

void lower_roi_pooling(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), regions = builder.packed(node.input_value(1)),
             listed = listed_regions(builder, node, regions);
  const double scale = node.get_attributes().get_double("spatial_scale");
  const bool is_max = node.get_attributes().get_string("method") == "max";
  const Shape& out = node.get_output_shape(0);
  // As the reference does: a rounded place decides which pixels count.
  const ElementType type = builder.target().has_f64 ? ElementType::kF64 : ElementType::kF32;
  set_whole(builder, node, "roi_pool", ElementType::kF32, kernels::roi_pool, [=](Kernel& kernel) {
    kernel.reads("X", data).reads("ROI", regions).reads("LISTED", listed);
    add_picture(kernel, data.shape);
    kernel.number("PICTURES", static_cast<std::int64_t>(data.shape[0]))
        .number("OH", static_cast<std::int64_t>(out[2]))
        .number("OW", static_cast<std::int64_t>(out[3]));
    kernel.define("REAL", compute_name(type))
        .define("SCALE", literal_text(type, scale))
        .define("IS_MAX", is_max ? 1 : 0);
  });
}

void lower_ps_roi_pooling(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), regions = builder.packed(node.input_value(1)),
             listed = listed_regions(builder, node, regions);
  const Shape& out = node.get_output_shape(0);
  const PsRoiPooling rule(node.get_attributes(), data.shape, out);
  const ElementType type = builder.target().has_f64 ? ElementType::kF64 : ElementType::kF32;
  set_whole(builder, node, "ps_roi_pool", ElementType::kF32, kernels::ps_roi_pool, [=](Kernel& kernel) {
    kernel.reads("X", data).reads("ROI", regions).reads("LISTED", listed);
    kernel.number("CHANNELS", static_cast<std::int64_t>(rule.channels))
        .number("SIDE", static_cast<std::int64_t>(rule.group))
        .number("IC", static_cast<std::int64_t>(data.shape[1]))
        .number("IH", static_cast<std::int64_t>(rule.height))
        .number("IW", static_cast<std::int64_t>(rule.width))
        .number("PICTURES", static_cast<std::int64_t>(data.shape[0]));
    kernel.define("REAL", compute_name(type))
        .define("SCALE", literal_text(type, rule.scale))
        .define("IS_AVERAGE", rule.is_average ? 1 : 0)
        .define("BINS_X", static_cast<std::int64_t>(rule.bins_x))
        .define("BINS_Y", static_cast<std::int64_t>(rule.bins_y));
  });
}

/// The displaced pixels in memory, [N, channels * taps, pixels].
View deformable_columns(Builder& builder, const Node& node, const Spatial3& window) {
  const View data = builder.packed(node.input_value(0)), offsets = builder.packed(node.input_value(1));
  const bool has_mask = node.get_input_size() > 3;
  const auto taps = static_cast<std::size_t>(window.window[1].kernel * window.window[2].kernel);
  const Shape shape{data.shape[0], data.shape[1] * taps, window.out[1] * window.out[2]};
  const View columns = builder.scratch(ElementType::kF32, shape);
  Kernel kernel = builder.kernel("deformable_columns");
  kernel.reads("X", data).reads("OFFSET", offsets).writes("OUT", columns);
  if (has_mask) kernel.reads("MASK", builder.packed(node.input_value(3)));
  add_window(kernel, window);
  kernel.number("CHANNELS", static_cast<std::int64_t>(data.shape[1]));
  kernel.define("DEFORMABLE", node.get_attributes().get_int("deformable_group"))
      .define("IS_PADDED", node.get_attributes().get_bool("bilinear_interpolation_pad", false) ? 1 : 0)
      .define("HAS_MASK", has_mask ? 1 : 0)
      .text(kernels::deformable_columns)
      .over({shape[2], shape[1], shape[0]}, {std::min<std::size_t>(builder.target().max_group, 64), 1, 1});
  builder.launch(std::move(kernel), node);
  return columns;
}

void lower_deformable_convolution(Builder& builder, const Node& node) {
  const Spatial3 window = sliding_window(node);
  const View filters = builder.packed(node.input_value(2)), columns = deformable_columns(builder, node, window);
  const auto groups = static_cast<std::size_t>(node.get_attributes().get_int("group"));
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, filters, columns, groups](const ExpressionRef& root, const View& out) {
    Product product;
    product.m = filters.shape[0] / groups;
    product.n = columns.shape[2];
    product.k = columns.shape[1] / groups;
    product.batch = columns.shape[0] * groups;
    Kernel kernel = builder.kernel("deformable_convolution");
    kernel.reads("X", columns).reads("W", filters);
    builder.add_store(kernel, root, out, {{0}, {1}, {2, 3}});
    kernel.number("GROUPS", static_cast<std::int64_t>(groups));
    kernel.define("LEFT(batch, m, k)", "W(((batch) % GROUPS * M + (m)) * K + (k))")
        .define("RIGHT(batch, k, n)", "X(((batch) * K + (k)) * N + (n))")
        .define("RIGHT16(batch, k, n)", "X_LOAD16(((batch) * K + (k)) * N + (n))")
        .define("STORE_AT(value, batch, m, n)", "STORE(value, (batch) / GROUPS, (batch) % GROUPS * M + (m), n)");
    launch_product(builder, *self, std::move(kernel), product);
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
}

/// Each pixel gathers what the windows that cover it add.
void lower_col2im(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const Spatial3 window = sliding_window(node);
  set_each(
      builder, node, "col2im", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).define("ACC", accumulator_name(data.type));
        add_window(kernel, window);
      },
      "  const int x = at % IW, y = at / IW % IH, plane = at / (IW * IH);\n  ACC sum = 0;\n"
      "  for (int ky = 0; ky < KH; ++ky) {\n    const int wy = y + PH - ky * DH;\n"
      "    if (wy < 0 || wy % SH != 0 || wy / SH >= OH) continue;\n"
      "    for (int kx = 0; kx < KW; ++kx) {\n      const int wx = x + PW - kx * DW;\n"
      "      if (wx < 0 || wx % SW != 0 || wx / SW >= OW) continue;\n"
      "      sum += (ACC)X(((plane * KH + ky) * KW + kx) * OH * OW + wy / SH * OW + wx / SW);\n    }\n  }\n"
      "  STORE(sum, at);\n");
}

std::string kernel_known(const Node& node) { return wants_constant(node, 2); }

}  // namespace

void register_sampling(LoweringTable& table) {
  table["GridSample"] = {lower_grid_sample};
  table["ROIAlign"] = {lower_roi_align};
  table["ROIPooling"] = {lower_roi_pooling};
  table["PSROIPooling"] = {lower_ps_roi_pooling};
  table["DeformableConvolution"] = {lower_deformable_convolution};
  table["Col2Im"] = {lower_col2im, kernel_known};
}

}  // namespace tenon::inline v1::gpu_device
