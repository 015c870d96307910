// SPDX-License-Identifier: Apache-2.0
// What a DeformableConvolution multiplies with its filters, for pictures whose channels lie innermost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

struct DeformableColumns {
  struct Axis {
    std::int64_t extent = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  };
  Axis down, across;
  std::size_t channels = 1, groups = 1, deformable_groups = 1;
  std::size_t out_width = 1, pixels = 1;  ///< Extents of the result.
  bool pads = false;                      ///< Points up to a pixel outside are read, between zeros and the picture.

  std::size_t taps() const { return static_cast<std::size_t>(down.kernel * across.kernel); }
  std::size_t depth() const { return channels * taps(); }
};

/// columns: f32 [count, groups, taps, channels / groups], for the pixels from `first` on. picture: f32 [height, width,
/// channels]; offsets: f32 [deformable groups, taps, 2, pixels]; mask: f32 [deformable groups, taps, pixels], or null.
/// Split over the workers of the calling arena.
void deformable_columns(const DeformableColumns& what, const float* picture, const float* offsets, const float* mask,
                        std::size_t first, std::size_t count, float* columns);

}  // namespace tenon::inline v1::engine::kernels
