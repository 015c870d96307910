// SPDX-License-Identifier: Apache-2.0
// Rows of f32 in fewer bits, as caches of keys and values keep them.
#pragma once

#include <cstddef>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// Rows that lie one behind the other: in bf16, in f16, or in 8 bits (kU8), where each group of neighbours has a scale
/// and a least number, and x is least + scale * number. A group with a number that is not finite is NaN.
struct KvCacheQuant {
  ElementType type = ElementType::kU8;
  std::size_t length = 0;
  std::size_t group = 0;  ///< Numbers that share a scale, for kU8: divides the length.
  std::size_t groups() const { return group == 0 ? 0 : length / group; }
};

/// @param from    [rows, length], packed.
/// @param scales  [rows, groups, 2]; of kU8 only, else null. @thread in the calling one
void narrow_rows(const KvCacheQuant& format, const float* from, std::size_t rows, void* numbers, float* scales);
/// The reverse.
void widen_rows(const KvCacheQuant& format, const void* numbers, const float* scales, std::size_t rows, float* to);

}  // namespace tenon::inline v1::engine::kernels
