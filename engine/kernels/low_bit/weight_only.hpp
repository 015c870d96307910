// SPDX-License-Identifier: Apache-2.0
// Products with matrices of 4 or 8 bits, which are expanded inside the product: memory is read once, packed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/engine/kernels/low_bit/weight_only_matrix.hpp>

namespace tenon::inline v1::engine::kernels {

/// Whether there is a kernel for groups of this size: whole vectors must fit into one.
bool has_weight_only_kernel(const WeightOnly& problem);

/// Up to how many rows multiply_weight_only() is better than a general product of the expanded matrix. One row is read at the
/// speed of memory or of the arithmetic, whichever is slower; four rows at a time share what is read.
/// @param has_tiles  The general product is one of bf16 by AMX.
std::size_t most_weight_only_rows(const WeightOnly& problem, bool has_tiles);

/// Memory that multiply_weight_only() works in, in floats.
std::size_t weight_only_scratch(const WeightOnly& problem);

/// @param x    [rows, depth], packed.
/// @param out  [rows, columns], packed.
/// @thread in parts, by the workers of the arena that calls it. @cost no allocation of its own
void multiply_weight_only(const WeightOnly& problem, const WeightOnlyMatrix& matrix, const float* x, float* scratch,
                          float* out);

/// Columns [begin, end) as [end - begin, depth] of real numbers: f32, or bf16 (see bf16.hpp).
void expand_weight_only(const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
                        float* out);
void expand_weight_only(const WeightOnly& problem, const WeightOnlyMatrix& matrix, std::size_t begin, std::size_t end,
                        std::uint16_t* out);

}  // namespace tenon::inline v1::engine::kernels
