// SPDX-License-Identifier: Apache-2.0
// ROIAlign of pictures whose channels lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tenon/graph/ops/roi_align.hpp>

namespace tenon::inline v1::engine::kernels {

struct RoiAlign {
  enum class Mode : std::uint8_t { kAverage, kMax, kMaxCorners };
  RoiAlignRule rule;
  Mode mode = Mode::kAverage;
  std::size_t pictures = 1, channels = 1, height = 1, width = 1;
  std::size_t block = 1;  ///< Channels side by side: all of them, or those of a block, the last one filled up.
  bool is_bf16 = false;   ///< The pictures; else f32.
  std::size_t regions = 0, rows = 1, columns = 1;  ///< Of the result.
};

/// out: f32 [regions, channels, rows, columns]; boxes: f32 [regions, 4]; pictures: [pictures, blocks, height, width,
/// block]; indices: the picture of each region. Sums in f32. Split over the workers of the calling arena.
/// @errors kInvalidArgument: an index of no picture, a region that is not finite.
template <typename Index>
void roi_align(const RoiAlign& what, const void* pictures, const float* boxes, const Index* indices, float* out);
extern template void roi_align(const RoiAlign&, const void*, const float*, const std::int32_t*, float*);
extern template void roi_align(const RoiAlign&, const void*, const float*, const std::int64_t*, float*);

}  // namespace tenon::inline v1::engine::kernels
