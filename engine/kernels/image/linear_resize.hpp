// SPDX-License-Identifier: Apache-2.0
// Resizes pictures by two taps per axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::inline v1::engine::kernels {

/// The two positions that one position of the result lies between.
struct LinearTap {
  std::uint32_t first, second;
  float weight;  ///< The weight of `second`.
};

/// [pictures, in_height, in_width, pixel] to [pictures, rows, columns, pixel], f32 or bf16. Immutable: any number of
/// threads may run it at once.
class LinearResize {
 public:
  LinearResize(std::size_t pictures, std::size_t in_height, std::size_t in_width, std::size_t pixel,
               std::vector<LinearTap> rows, const std::vector<LinearTap>& columns);
  /// Rows are split over the workers of the calling arena.
  void run(const float* in, float* out) const;
  void run(const std::uint16_t* in, std::uint16_t* out) const;

  std::size_t pictures, in_height, in_width, pixel, width;
  std::vector<LinearTap> rows;
  std::vector<std::int32_t> first, second;  ///< For each column of the result, with room for a vector behind.
  std::vector<float> weight;

 private:
  template <typename T>
  void run_typed(const T* in, T* out) const;
};

}  // namespace tenon::inline v1::engine::kernels
