// SPDX-License-Identifier: Apache-2.0
// Resizes pictures by weighted sums over rows, then over columns: any number of taps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/graph/ops/resize_taps.hpp>

namespace tenon::inline v1::engine::kernels {

/// [pictures, in_height, in_width, pixel] to [pictures, out_height, out_width, pixel] of f32 or u8 (rounded to nearest,
/// saturated). Immutable: any number of threads may run it at once. Rows are distributed by TBB.
class SeparableResize {
 public:
  SeparableResize(std::size_t pictures, std::size_t in_width, std::size_t in_height, std::size_t pixel,
                  const std::vector<ResizeTaps>& columns, const std::vector<ResizeTaps>& rows);
  void run(const float* in, float* out) const;
  void run(const std::uint8_t* in, std::uint8_t* out) const;

 private:
  template <typename T>
  void run_typed(const T* in, T* out) const;
  template <typename T>
  void run_rows(const T* in, T* out, std::size_t begin, std::size_t end) const;

  std::size_t pictures_, in_row_, in_height_, out_row_, out_height_;  // Rows in elements.
  std::vector<ResizeTaps> rows_;
  std::size_t column_taps_ = 0;
  /// Tap t of element e of a row: columns_[t * out_row_ + e], padded with weight 0.
  std::vector<std::int32_t> column_at_;
  std::vector<float> column_weight_;
};

}  // namespace tenon::inline v1::engine::kernels
