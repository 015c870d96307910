// SPDX-License-Identifier: Apache-2.0
// Reductions over one axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

enum class FoldKind : std::uint8_t { kSum, kMagnitudes, kSquares, kProduct, kGreatest, kLeast, kAll, kAny };

struct Fold {
  FoldKind kind = FoldKind::kSum;
  ElementType type = ElementType::kF32;  ///< kF32, kI32, kI64; kBool for kAll and kAny, and for nothing else.
  std::size_t outer = 1, extent = 1, inner = 1;
  float scale = 1;       ///< Multiplies f32 results.
  bool is_root = false;  ///< The square root of f32 results, after the scale.
};

/// x: [outer, extent, inner]; out: [outer, inner]. Sums in short runs, whose sums are of the double width for f32, so that
/// long ones keep their precision. NaN is the greatest and the least. Split over the workers of the calling arena; the
/// result does not depend on their number.
void fold(const Fold& what, const void* x, void* out);

}  // namespace tenon::inline v1::engine::kernels
