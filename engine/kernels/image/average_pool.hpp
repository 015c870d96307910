// SPDX-License-Identifier: Apache-2.0
// Averages of windows that lie inside the picture.
#pragma once

#include <cstddef>

namespace tenon::inline v1::engine::kernels {

struct AveragePool {
  std::size_t pictures = 1;  ///< Times blocks of channels.
  std::size_t pixel = 1;     ///< Channels side by side.
  std::size_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::size_t window_height = 1, window_width = 1, stride_height = 1, stride_width = 1;
  /// Single elements are only averaged in pairs of columns.
  bool is_known() const { return pixel > 1 || (window_width == 2 && stride_width == 2); }
};

/// src: f32 [pictures, in_height, in_width, pixel]; dst: the same with the output's height and width. Split over the
/// workers of the calling arena.
void average_pool(const AveragePool& what, const float* src, float* dst);

}  // namespace tenon::inline v1::engine::kernels
