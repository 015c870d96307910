// SPDX-License-Identifier: Apache-2.0
// Softmax along an axis that is not the innermost, and what a NaN makes of a line.
#pragma once

#include <cstddef>

#include <tenon/engine/kernels/simd/bf16.hpp>

namespace tenon::inline v1::engine::kernels {

/// out[o][k][i] = exp(x[o][k][i] - max_k) / sum_k. May run in place. Split over the workers of the calling arena.
void softmax_columns(const float* x, float* out, std::size_t outer, std::size_t extent, std::size_t inner);

/// Makes a line of oneDNN's softmax NaN where an element of it is: the others are 0 there, since its exponential of a NaN is infinite, and
/// minus infinity in the logarithm. Reads the first element of each line, and the others only where that one allows a NaN.
void spread_nan(float* lines, std::size_t outer, std::size_t extent, std::size_t inner, bool is_log);
void spread_nan(Bf16* lines, std::size_t outer, std::size_t extent, std::size_t inner, bool is_log);

}  // namespace tenon::inline v1::engine::kernels
