// SPDX-License-Identifier: Apache-2.0
// Softmax along an axis that is not the innermost.
#pragma once

#include <cstddef>

namespace tenon::inline v1::engine::kernels {

/// out[o][k][i] = exp(x[o][k][i] - max_k) / sum_k. May run in place. Split over the workers of the calling arena.
void softmax_columns(const float* x, float* out, std::size_t outer, std::size_t extent, std::size_t inner);

}  // namespace tenon::inline v1::engine::kernels
