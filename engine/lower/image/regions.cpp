// SPDX-License-Identifier: Apache-2.0
// Operations that read pictures at computed places: ROIAlign and pools of regions, GridSample, DeformableConvolution.
#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/engine/kernels/image/deformable.hpp>
#include <tenon/engine/kernels/image/grid_sample.hpp>
#include <tenon/engine/kernels/image/roi_align.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/build/window.hpp>

namespace tenon::inline v1::engine {
namespace {

/// A picture whose channels lie side by side, all of them or those of a block, as f32 or bf16.
struct Pixels {
  BufferSlice place;
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

/// The picture's and the result's part, in the layout that the picture has if a kernel reads that.
struct RegionPlaces {
  kernels::RoiCells what;
  BufferSlice pictures;
};

RegionPlaces regions_of(PlanBuilder& builder, const std::shared_ptr<Node>& node, kernels::RoiCells::Mode mode) {
  Value& source = builder.input(node, 0);
  const Shape& made = builder.value(node->output(0)).shape;
  const Pixels pixels = pixels_of(builder, source);
  kernels::RoiCells what;
  what.mode = mode;
  what.pictures = source.shape[0];
  what.channels = source.shape[1];
  what.height = source.shape[2];
  what.width = source.shape[3];
  what.block = pixels.block;
  what.is_bf16 = pixels.is_bf16;
  what.regions = made[0];
  what.rows = made[2];
  what.columns = made[3];
  return {what, pixels.place};
}

/// Real pictures and boxes, and something to make.
bool has_regions(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const Value &source = builder.input(node, 0), &boxes = builder.input(node, 1);
  return source.type == ElementType::kF32 && boxes.type == ElementType::kF32 && element_count(source.shape) > 0 &&
         element_count(builder.value(node->output(0)).shape) > 0;
}

using kernels::RoiCells;

/// ROIAlign, also of rotated regions.
bool lower_roi_align(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!has_regions(builder, node)) return false;
  Value &boxes = builder.input(node, 1), &indices = builder.input(node, 2);
  const bool has_wide_indices = indices.type == ElementType::kI64;
  if (indices.type != ElementType::kI32 && !has_wide_indices) return false;
  const bool is_rotated = is_op(node, "ROIAlignRotated");
  const std::string mode = is_rotated ? "avg" : node->get_attributes().get_string("mode");
  const auto [what, pictures] = regions_of(builder, node,
                                           mode == "max"           ? RoiCells::Mode::kMax
                                           : mode == "max_corners" ? RoiCells::Mode::kMaxCorners
                                                                   : RoiCells::Mode::kAverage);
  const BufferSlice from = builder.plain(boxes), at = builder.plain(indices),
                    to = builder.define_plain(builder.value(node->output(0)));
  const auto add = [&](const char* kernel, const auto& run) {
    builder.add_kernel(node, kernel, {pictures, from, at}, {to}, [run, has_wide_indices](std::span<void* const> p) {
      const float* numbers = static_cast<const float*>(p[1]);
      float* out = static_cast<float*>(p[3]);
      if (has_wide_indices)
        run(p[0], numbers, static_cast<const std::int64_t*>(p[2]), out);
      else
        run(p[0], numbers, static_cast<const std::int32_t*>(p[2]), out);
    });
  };
  if (is_rotated)
    add("roi align rotated", [cells = what, rule = RotatedRoiRule(node->get_attributes())](const auto&... rest) {
      kernels::roi_align_rotated(cells, rule, rest...);
    });
  else
    add("roi align", [cells = what, rule = RoiAlignRule(node->get_attributes())](const auto&... rest) {
      kernels::roi_align(cells, rule, rest...);
    });
  return true;
}

bool lower_roi_pooling(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!has_regions(builder, node)) return false;
  const auto& attributes = node->get_attributes();
  const bool is_max = attributes.get_string("method") == "max";
  const auto [what, pictures] =
      regions_of(builder, node, is_max ? RoiCells::Mode::kMaxPixel : RoiCells::Mode::kAverage);
  const BufferSlice from = builder.plain(builder.input(node, 1)),
                    to = builder.define_plain(builder.value(node->output(0)));
  builder.add_kernel(node, "roi pool", {pictures, from}, {to},
                     [cells = what, scale = attributes.get_double("spatial_scale")](std::span<void* const> p) {
                       kernels::roi_pool(cells, scale, p[0], static_cast<const float*>(p[1]),
                                         static_cast<float*>(p[2]));
                     });
  return true;
}

bool lower_ps_roi_pooling(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (!has_regions(builder, node)) return false;
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const kernels::PsRoiCells what{PsRoiPooling(node->get_attributes(), source.shape, made.shape), made.shape[0],
                                 source.shape[0], source.shape[1]};
  const BufferSlice pictures = builder.plain(source), from = builder.plain(builder.input(node, 1)),
                    to = builder.define_plain(made);
  builder.add_kernel(node, "ps roi pool", {pictures, from}, {to}, [what](std::span<void* const> p) {
    kernels::ps_roi_pool_all(what, static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                             static_cast<float*>(p[2]));
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
  const BufferSlice from = builder.plain(source), at = builder.plain(grid), to = builder.define_plain(made);
  builder.add_kernel(node, "grid sample", {from, at}, {to}, [what](std::span<void* const> p) {
    kernels::grid_sample(what, static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                         static_cast<float*>(p[2]));
  });
  return true;
}

/// Some pixels at a time are read, and multiplied with the filters.
class DeformableProduct {
 public:
  DeformableProduct(const kernels::DeformableColumns& what, std::size_t pictures, std::size_t filters)
      : what_(what), pictures_(pictures), filters_(filters) {
    constexpr std::size_t kBytes = std::size_t{8} << 20, kLeastPixels = 64;
    count_ = std::min(what.pixels, std::max(kLeastPixels, kBytes / (what.depth() * sizeof(float))));
  }
  std::size_t columns_bytes() const { return count_ * what_.depth() * sizeof(float); }

  /// data: [pictures, height, width, channels]; filters: [filters, taps, channels / groups]; out: [pictures, pixels,
  /// filters].
  void run(const float* data, const float* offsets, const float* mask, const float* filters, float* columns,
           float* out) const {
    const std::size_t points = what_.deformable_groups * what_.taps() * what_.pixels;
    for (std::size_t n = 0; n < pictures_; ++n) {
      const float* picture =
          data + n * static_cast<std::size_t>(what_.down.extent * what_.across.extent) * what_.channels;
      for (std::size_t first = 0; first < what_.pixels; first += count_) {
        const std::size_t count = std::min(count_, what_.pixels - first);
        kernels::deformable_columns(what_, picture, offsets + 2 * n * points, mask ? mask + n * points : nullptr, first,
                                    count, columns);
        multiply(columns, count, filters, out + (n * what_.pixels + first) * filters_);
      }
    }
  }

 private:
  void multiply(const float* columns, std::size_t count, const float* filters, float* out) const {
    const auto whole = [](std::size_t value) { return static_cast<dnnl_dim_t>(value); };
    const std::size_t depth = what_.depth() / what_.groups, each = filters_ / what_.groups;
    for (std::size_t g = 0; g < what_.groups; ++g) {
      const dnnl_status_t status =
          dnnl_sgemm('N', 'T', whole(count), whole(each), whole(depth), 1, columns + g * depth, whole(what_.depth()),
                     filters + g * each * depth, whole(depth), 0, out + g * each, whole(filters_));
      if (status != dnnl_success)
        throw Error(Code::kInternal, "DeformableConvolution: dnnl_sgemm failed with status " + std::to_string(status));
    }
  }

  kernels::DeformableColumns what_;
  std::size_t pictures_, filters_, count_;
};

bool lower_deformable(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  for (std::size_t i = 0; i < node->get_input_size(); ++i)
    if (builder.input(node, i).type != ElementType::kF32 || element_count(builder.input(node, i).shape) == 0)
      return false;
  Value &source = builder.input(node, 0), &filters = builder.input(node, 2), &made = builder.value(node->output(0));
  if (element_count(made.shape) == 0) return false;
  const auto& attributes = node->get_attributes();
  const Window window = make_window(*node, spatial(source.shape), spatial(made.shape), spatial(filters.shape));
  kernels::DeformableColumns what;
  for (std::size_t i = 0; i < 2; ++i)
    (i == 0 ? what.down : what.across) = {static_cast<std::int64_t>(source.shape[2 + i]), window.kernel[i],
                                          window.strides[i], window.dilations[i] + 1, window.pads_begin[i]};
  what.channels = source.shape[1];
  what.groups = static_cast<std::size_t>(attributes.get_int("group"));
  what.deformable_groups = static_cast<std::size_t>(attributes.get_int("deformable_group"));
  what.out_width = made.shape[3];
  what.pixels = made.shape[2] * made.shape[3];
  what.pads = attributes.get_bool("bilinear_interpolation_pad", false);
  const DeformableProduct product(what, made.shape[0], made.shape[1]);
  std::vector<BufferSlice> read{builder.in_layout(source, channels_last(ElementType::kF32, source.shape)),
                                builder.plain(builder.input(node, 1)),
                                builder.in_layout(filters, channels_last(ElementType::kF32, filters.shape))};
  const bool is_masked = node->get_input_size() > 3;
  if (is_masked) read.push_back(builder.plain(builder.input(node, 3)));
  const BufferSlice columns = builder.scratch(product.columns_bytes()),
                    to = builder.define(made, channels_last(ElementType::kF32, made.shape));
  builder.add_kernel(node, "deformable", read, {columns, to}, [product, is_masked](std::span<void* const> p) {
    const auto number = [&](std::size_t i) { return static_cast<float*>(p[i]); };
    const std::size_t others = is_masked ? 4 : 3;
    product.run(number(0), number(1), is_masked ? number(3) : nullptr, number(2), number(others), number(others + 1));
  });
  return true;
}

}  // namespace

void register_regions(LoweringTable& table) {
  table["ROIAlign"] = {lower_roi_align, false};
  table["ROIAlignRotated"] = {lower_roi_align, false};
  table["ROIPooling"] = {lower_roi_pooling, false};
  table["PSROIPooling"] = {lower_ps_roi_pooling, false};
  table["DeformableConvolution"] = {lower_deformable, false};
  table["GridSample"] = {lower_grid_sample, false};
}

}  // namespace tenon::inline v1::engine
