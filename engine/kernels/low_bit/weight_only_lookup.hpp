// SPDX-License-Identifier: Apache-2.0
// Products with packed 4-bit matrices whose numbers are looked up in a vector of sixteen: the part of weight_only.hpp that
// needs AVX-512.
#pragma once

#include <cstddef>

#include <tenon/engine/kernels/low_bit/weight_only_matrix.hpp>

namespace tenon::inline v1::engine::kernels {

/// Whether multiply_weight_only() looks numbers up: this CPU has AVX-512, and depth and groups are made of whole vectors
/// (groups of 8, 16, 32, 64 or a multiple of 128 numbers of 4 bits).
bool looks_up(const WeightOnly& problem);

/// Rows of x in the order in which numbers come out of a matrix: of each 128, those at the same place in 4 bytes lie
/// together. A chunk is what 64 bytes of the matrix are multiplied with.
class LookedUpRows {
 public:
  /// @param memory  weight_only_scratch() floats.
  LookedUpRows(const WeightOnly& problem, float* memory);
  static std::size_t floats(const WeightOnly& problem);

  void order(std::size_t row, const float* x) const;
  /// Columns [begin, end) of all rows. @thread several at once, once all rows are ordered
  void multiply(const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end, float* out) const;

 private:
  const WeightOnly& problem_;
  float* sums_;     ///< [rows, chunks, 16]: the negated sum of each lane's numbers.
  float* ordered_;  ///< [rows, depth]
};

}  // namespace tenon::inline v1::engine::kernels
