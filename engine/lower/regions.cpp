// SPDX-License-Identifier: Apache-2.0
// Operations that read pictures at computed places: ROIAlign, GridSample.
#include <tenon/engine/kernels/grid_sample.hpp>
#include <tenon/engine/kernels/roi_align.hpp>
#include <tenon/engine/lower/builder.hpp>
#include <tenon/engine/lower/table.hpp>

namespace tenon::inline v1::engine {
namespace {

/// A picture whose channels lie side by side, all of them or those of a block, as f32 or bf16.
struct Pixels {
  Place place;
  std::size_t block = 1;
  bool is_bf16 = false;
};

/// The layout that the value has already if it is one of these.
Pixels pixels_of(PlanBuilder& builder, Value& source) {
  const Value::Variant from = builder.real(source);
  const ElementType type = element_type(from.desc) == ElementType::kBf16 ? ElementType::kBf16 : ElementType::kF32;
  const bool is_bf16 = type == ElementType::kBf16;
  const md blocked = builder.blocked_desc(source.shape, type);
  if (blocked.get_ndims() && from.desc == blocked)
    return {from.place, static_cast<std::size_t>(builder.channel_block()), is_bf16};
  return {builder.in_layout(source, channels_last(type, source.shape)), source.shape[1], is_bf16};
}

bool lower_roi_align(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &boxes = builder.input(node, 1), &indices = builder.input(node, 2);
  Value& made = builder.value(node->output(0));
  const bool has_wide_indices = indices.type == ElementType::kI64;
  if (source.type != ElementType::kF32 || boxes.type != ElementType::kF32 ||
      (indices.type != ElementType::kI32 && !has_wide_indices))
    return false;
  if (element_count(source.shape) == 0 || element_count(made.shape) == 0) return false;
  using kernels::RoiAlign;
  const std::string& mode = node->get_attributes().get_string("mode");
  RoiAlign what{.rule = RoiAlignRule(node->get_attributes())};
  what.mode = mode == "max"           ? RoiAlign::Mode::kMax
              : mode == "max_corners" ? RoiAlign::Mode::kMaxCorners
                                      : RoiAlign::Mode::kAverage;
  const Pixels pixels = pixels_of(builder, source);
  what.pictures = source.shape[0];
  what.channels = source.shape[1];
  what.height = source.shape[2];
  what.width = source.shape[3];
  what.block = pixels.block;
  what.is_bf16 = pixels.is_bf16;
  what.regions = made.shape[0];
  what.rows = made.shape[2];
  what.columns = made.shape[3];
  const Place from = builder.plain(boxes), at = builder.plain(indices), to = builder.define_plain(made);
  builder.add_kernel(node, "roi align", {pixels.place, from, at}, {to}, [=](std::span<void* const> p) {
    const float* numbers = static_cast<const float*>(p[1]);
    float* out = static_cast<float*>(p[3]);
    if (has_wide_indices)
      kernels::roi_align(what, p[0], numbers, static_cast<const std::int64_t*>(p[2]), out);
    else
      kernels::roi_align(what, p[0], numbers, static_cast<const std::int32_t*>(p[2]), out);
  });
  return true;
}

bool lower_grid_sample(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &grid = builder.input(node, 1), &made = builder.value(node->output(0));
  if (source.type != ElementType::kF32 || grid.type != ElementType::kF32) return false;
  if (element_count(source.shape) == 0 || element_count(made.shape) == 0) return false;
  const auto& attributes = node->get_attributes();
  const kernels::GridSample what{{attributes, source.shape[2]},
                                 {attributes, source.shape[3]},
                                 source.shape[0],
                                 source.shape[1],
                                 made.shape[2] * made.shape[3]};
  const Place from = builder.plain(source), at = builder.plain(grid), to = builder.define_plain(made);
  builder.add_kernel(node, "grid sample", {from, at}, {to}, [what](std::span<void* const> p) {
    kernels::grid_sample(what, static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                         static_cast<float*>(p[2]));
  });
  return true;
}

}  // namespace

void register_regions(LoweringTable& table) {
  table["ROIAlign"] = {lower_roi_align, false};
  table["GridSample"] = {lower_grid_sample, false};
}

}  // namespace tenon::inline v1::engine
