// SPDX-License-Identifier: Apache-2.0
// Sums of all elements up to each, and elements divided by a norm.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

struct Cumsum {
  ElementType type = ElementType::kF32;  ///< kF32, kI32 or kI64.
  std::size_t outer = 1, extent = 1, inner = 1;
  bool is_exclusive = false, is_reverse = false;
};

/// x, y: [outer, extent, inner]. Split over the workers of the calling arena.
void cumsum(const Cumsum& what, const void* x, void* y);

/// y = x / sqrt(squares + epsilon), or / sqrt(max(squares, epsilon)). x, y: f32 [outer, extent, inner]; squares: [outer,
/// inner]. Split over the workers of the calling arena.
void divide_by_norms(std::size_t outer, std::size_t extent, std::size_t inner, float epsilon, bool is_added,
                     const float* x, const float* squares, float* y);

}  // namespace tenon::inline v1::engine::kernels
