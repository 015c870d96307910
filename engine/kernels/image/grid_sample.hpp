// SPDX-License-Identifier: Apache-2.0
// GridSample of pictures in plain layout.
#pragma once

#include <cstddef>

#include <tenon/graph/ops/grid_sample.hpp>

namespace tenon::inline v1::engine::kernels {

struct GridSample {
  GridAxis down, across;
  std::size_t pictures = 1, channels = 1;
  std::size_t points = 0;  ///< Number for each picture.
};

/// data: f32 [pictures, channels, height, width]; grid: f32 [pictures, points, 2] of x and y; out: f32 [pictures,
/// channels, points]. A pixel whose weight is 0 may be left out. Split over the workers of the calling arena.
void grid_sample(const GridSample& what, const float* data, const float* grid, float* out);

}  // namespace tenon::inline v1::engine::kernels
