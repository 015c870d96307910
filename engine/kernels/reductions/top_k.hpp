// SPDX-License-Identifier: Apache-2.0
// The greatest or least of lines of numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

struct TopK {
  ElementType type = ElementType::kF32, index_type = ElementType::kI64;  ///< Indices are kI32 or kI64.
  std::size_t outer = 1, extent = 1, inner = 1, k = 1;                   ///< Lines along the middle axis; k <= extent.
  bool greatest = true;
  bool by_index = false;  ///< What is found is put in order of its place.
};

bool has_top_k(ElementType type);
/// data: [outer, extent, inner]; values, indices: [outer, k, inner]. Equal numbers keep their order, NaN counts as the
/// greatest. Lines are split over the workers of the calling arena.
void top_k(const TopK& what, const void* data, void* values, void* indices);

}  // namespace tenon::inline v1::engine::kernels
