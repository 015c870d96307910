// SPDX-License-Identifier: Apache-2.0
// ROIAlign, ROIAlignRotated and ROIPooling of pictures whose channels lie side by side, and PSROIPooling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tenon/graph/ops/roi_align.hpp>
#include <tenon/graph/ops/roi_pooling.hpp>

namespace tenon::inline v1::engine::kernels {

/// Pictures, and regions of them.
struct RoiCells {
  /// kMaxPixel: the greatest of whole pixels, 0 without any.
  enum class Mode : std::uint8_t { kAverage, kMax, kMaxCorners, kMaxPixel };
  Mode mode = Mode::kAverage;
  std::size_t pictures = 1, channels = 1, height = 1, width = 1;
  std::size_t block = 1;  ///< Channels side by side: all of them, or those of a block, the last one filled up.
  bool is_bf16 = false;   ///< The pictures; else f32.
  std::size_t regions = 0, rows = 1, columns = 1;  ///< Extents of the result.
};

// out: f32 [regions, channels, rows, columns]; pictures: [pictures, blocks, height, width, block]; indices: the picture of
// each region. Sums in f32. Split over the workers of the calling arena.
// @errors kInvalidArgument: an index of no picture, a region that is not finite.

/// boxes: f32 [regions, 4].
template <typename Index>
void roi_align(const RoiCells& what, const RoiAlignRule& rule, const void* pictures, const float* boxes,
               const Index* indices, float* out);
/// boxes: f32 [regions, 5]; the mode is kAverage.
template <typename Index>
void roi_align_rotated(const RoiCells& what, const RotatedRoiRule& rule, const void* pictures, const float* boxes,
                       const Index* indices, float* out);
/// boxes: f32 [regions, 5] that begin with the picture; the mode is kMaxPixel, or kAverage for bilinear ones.
void roi_pool(const RoiCells& what, double scale, const void* pictures, const float* boxes, float* out);

/// out: f32 [regions, channels, group, group]; pictures: f32 [pictures, own channels, height, width]; boxes as for
/// roi_pool().
struct PsRoiCells {
  PsRoiPooling rule;
  std::size_t regions = 0, pictures = 1, own_channels = 1;
};
void ps_roi_pool_all(const PsRoiCells& what, const float* pictures, const float* boxes, float* out);

extern template void roi_align(const RoiCells&, const RoiAlignRule&, const void*, const float*, const std::int32_t*,
                               float*);
extern template void roi_align(const RoiCells&, const RoiAlignRule&, const void*, const float*, const std::int64_t*,
                               float*);
extern template void roi_align_rotated(const RoiCells&, const RotatedRoiRule&, const void*, const float*,
                                       const std::int32_t*, float*);
extern template void roi_align_rotated(const RoiCells&, const RotatedRoiRule&, const void*, const float*,
                                       const std::int64_t*, float*);

}  // namespace tenon::inline v1::engine::kernels
