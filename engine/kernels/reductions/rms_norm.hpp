// SPDX-License-Identifier: Apache-2.0
// Rows divided by the root of the mean of their squares.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// out = x / sqrt(mean(x^2) + epsilon) * weights, for packed rows of f32 or bf16; sums are f32.
struct RmsNorm {
  std::size_t rows = 0, columns = 0;
  ElementType x_type = ElementType::kF32, out_type = ElementType::kF32;
  float epsilon = 0;
};
/// @param weights  `columns` numbers; null: all 1.
void rms_norm(const RmsNorm& what, const void* x, const float* weights, void* out);

}  // namespace tenon::inline v1::engine::kernels
