// SPDX-License-Identifier: Apache-2.0
// Between f16 and f32, element by element.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

/// Both need AVX2 (and the F16C that comes with it) to round correctly.
void half_to_float(const std::uint16_t* x, float* y, std::size_t count);
/// Rounds to nearest even; numbers that are too large become infinities.
void float_to_half(const float* x, std::uint16_t* y, std::size_t count);

}  // namespace tenon::inline v1::engine::kernels
