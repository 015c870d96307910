// SPDX-License-Identifier: Apache-2.0
// Products with packed 4- and 8-bit matrices whose left side is rounded to 8 bits: the part of weight_only.hpp that needs
// AVX512_VNNI.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/engine/kernels/low_bit/weight_only_matrix.hpp>

namespace tenon::inline v1::engine::kernels {

/// Whether multiply_weight_only() rounds x: it is asked to, this CPU has AVX512_VNNI, and depth and groups are made of whole
/// vectors (groups of 32, 64 or a multiple of 128 integers of 4 bits, of 32 or a multiple of 64 of 8 bits).
bool rounds_rows(const WeightOnly& problem);

/// Rows of x as 8-bit numbers in the order in which those of a matrix come out of its bytes. A chunk is what 64 bytes of
/// the matrix are multiplied with.
class RoundedRows {
 public:
  /// @param memory  weight_only_scratch() floats.
  RoundedRows(const WeightOnly& problem, float* memory);
  static std::size_t floats(const WeightOnly& problem);

  void round(std::size_t row, const float* x) const;
  /// Columns [begin, end) of all rows. @thread several at once, once all rows are rounded
  void multiply(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end, float* out) const;

 private:
  std::size_t chunks() const { return problem_.row_bytes() / 64; }
  const WeightOnly& problem_;
  float* scales_;         ///< [rows, chunks, 16]: what a unit in each lane is worth...
  float* sums_;           ///< ...and the sum of the lane's numbers.
  std::int8_t* numbers_;  ///< [rows, depth]
};

}  // namespace tenon::inline v1::engine::kernels
