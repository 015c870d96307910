// SPDX-License-Identifier: Apache-2.0
// Matrices of 4 or 8 bits as the kernels for their products read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

/// How the numbers of a WeightOnly matrix are stored; two of 4 bits share a byte, the first in its low half.
/// Those of kNf4 are places in a table (graph/ops/nf4.hpp).
enum class WeightOnlyType : std::uint8_t { kU4, kI4, kNf4, kU8, kI8 };

/// out[r][n] = sum over k of x[r][k] * scale * (w[n][k] - zero point), one scale and one zero point for each group of
/// neighbours along k.
struct WeightOnly {
  std::size_t rows = 0, columns = 0, depth = 0;
  std::size_t group = 0;  ///< Divides `depth`.
  WeightOnlyType type = WeightOnlyType::kU4;
  /// x is rounded to 8 bits, with one scale for so many neighbours, and multiplied as integers where the CPU has that (see
  /// rounds_rows()); 0: never.
  std::size_t rounding = 0;
  std::size_t groups() const { return depth / group; }
  bool is_4_bit() const {
    return type == WeightOnlyType::kU4 || type == WeightOnlyType::kI4 || type == WeightOnlyType::kNf4;
  }
  std::size_t row_bytes() const { return is_4_bit() ? depth / 2 : depth; }
};

/// The matrix: [columns, depth] of the problem's type, packed, and for each column its groups' scales.
struct WeightOnlyMatrix {
  const void* weights = nullptr;
  const float* scales = nullptr;       ///< [columns, groups]
  const float* zero_points = nullptr;  ///< The same, or null: `zero_point` for all.
  float zero_point = 0;
  const float* bias = nullptr;  ///< [columns], added to the product; or null.
};

}  // namespace tenon::inline v1::engine::kernels
