// SPDX-License-Identifier: Apache-2.0
// Products of many rows with packed 4- and 8-bit matrices, the rows rounded to 8 bits: columns are expanded to bytes in
// panels that stay in the cache, and multiplied by AVX512_VNNI. The part of weight_only.hpp for prompts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/engine/kernels/low_bit/weight_only_matrix.hpp>

namespace tenon::inline v1::engine::kernels {

/// Whether multiply_weight_only() multiplies panels: it rounds x, there are enough rows that expanding pays, and groups are
/// multiples of 32.
bool multiplies_panels(const WeightOnly& problem);

/// Sixteen columns to a vector. A unit is a run of neighbours with one scale in x and in the matrix.
class RoundedPanels {
 public:
  /// @param memory  floats() of them.
  RoundedPanels(const WeightOnly& problem, void* memory);
  static std::size_t floats(const WeightOnly& problem);

  void round(std::size_t row, const float* x) const;
  /// Columns of a block, a multiple of a panel's; the last one may be smaller.
  std::size_t block_columns() const;
  static constexpr std::size_t kPanelColumns = 48;
  /// Expands panel `panel` of the block that begins at column `begin`. @thread several panels at once
  void expand(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t panel) const;
  /// All rows times that panel. @thread several panels at once, once all rows are rounded
  void multiply(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t panel, float* out) const;

 private:
  std::size_t units() const { return problem_.depth / unit_; }
  const WeightOnly& problem_;
  std::size_t unit_;
  float* row_scales_;       ///< [rows, units]
  float* row_sums_;         ///< [rows, units]: of the numbers, times their scale.
  float* scales_;           ///< [panels, groups, 48]
  float* zeros_;            ///< The same.
  std::int8_t* rows_;       ///< [rows, depth]
  std::uint8_t* expanded_;  ///< [panels, depth / 4, 48, 4]
};

}  // namespace tenon::inline v1::engine::kernels
