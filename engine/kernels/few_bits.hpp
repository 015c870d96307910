// SPDX-License-Identifier: Apache-2.0
// Products with matrices of 4 or 8 bits, which are expanded inside the product: memory is read once, packed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

/// How the numbers of a FewBits matrix are stored; two of 4 bits share a byte, the first in its low half.
enum class FewBitsType : std::uint8_t { kU4, kI4, kU8, kI8 };

/// out[r][n] = sum over k of x[r][k] * scale * (w[n][k] - zero point), one scale and one zero point for each group of
/// neighbours along k.
struct FewBits {
  std::size_t rows = 0, columns = 0, depth = 0;
  std::size_t group = 0;  ///< Divides `depth`.
  FewBitsType type = FewBitsType::kU4;
  /// x is rounded to 8 bits, with one scale for so many neighbours, and multiplied as integers where the CPU has that (see
  /// rounds_rows()); 0: never.
  std::size_t rounding = 0;
  std::size_t groups() const { return depth / group; }
  std::size_t row_bytes() const { return type == FewBitsType::kU4 || type == FewBitsType::kI4 ? depth / 2 : depth; }
};

/// The matrix: [columns, depth] of the problem's type, packed, and for each column its groups' scales.
struct FewBitsMatrix {
  const void* weights = nullptr;
  const float* scales = nullptr;       ///< [columns, groups]
  const float* zero_points = nullptr;  ///< The same, or null: `zero_point` for all.
  float zero_point = 0;
};

/// Whether there is a kernel for groups of this size: whole vectors must fit into one.
bool has_few_bits_kernel(const FewBits& problem);

/// Whether multiply_few_bits() rounds x: it is asked to, this CPU has AVX512_VNNI, and depth and groups are made of whole
/// vectors (groups of 32, 64 or a multiple of 128 numbers of 4 bits, of 32 or a multiple of 64 of 8 bits).
bool rounds_rows(const FewBits& problem);

/// Up to how many rows multiply_few_bits() is better than a general product of the expanded matrix. One row is read at the
/// speed of memory or of the arithmetic, whichever is slower; four rows at a time share what is read.
std::size_t most_few_bits_rows(const FewBits& problem);

/// Memory that multiply_few_bits() works in, in floats.
std::size_t few_bits_scratch(const FewBits& problem);

/// @param x    [rows, depth], packed.
/// @param out  [rows, columns], packed.
/// @thread in parts, by the workers of the arena that calls it. @cost no allocation of its own
void multiply_few_bits(const FewBits& problem, const FewBitsMatrix& matrix, const float* x, float* scratch, float* out);

/// Columns [begin, end) as [end - begin, depth] of real numbers: f32, or bf16 (see bf16.hpp).
void expand_few_bits(const FewBits& problem, const FewBitsMatrix& matrix, std::size_t begin, std::size_t end,
                     float* out);
void expand_few_bits(const FewBits& problem, const FewBitsMatrix& matrix, std::size_t begin, std::size_t end,
                     std::uint16_t* out);

}  // namespace tenon::inline v1::engine::kernels
