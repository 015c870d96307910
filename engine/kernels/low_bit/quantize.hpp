// SPDX-License-Identifier: Apache-2.0
// Between real and 8-bit numbers, element by element; operations on rows of 8-bit numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// y = round(scale * (x - origin) + shift), saturated to the type's range; without rounding and saturation to or from
/// real types. The origin is a zero point: the number that stands for zero becomes zero exactly.
struct Affine {
  ElementType from = ElementType::kF32, to = ElementType::kF32;  ///< f32, bf16, u8 or i8.
  float scale = 1, shift = 0, origin = 0;
};
/// Over `count` elements, whatever their order. May run in place if the sizes are equal.
void affine(const Affine& what, const void* x, void* y, std::size_t count);
/// The same over `rows` rows of `columns`, whose first elements are this many elements apart.
void affine_rows(const Affine& what, const void* x, void* y, std::size_t rows, std::size_t columns,
                 std::size_t x_stride, std::size_t y_stride);

/// z = x op y on 8-bit numbers of any scales: round(op(x_scale * x + x_shift, y_scale * y + y_shift) + z_shift), where
/// op is a sum or a product, clamped to [low, high] before it is rounded.
struct Combine {
  bool product = false;
  bool x_signed = false, y_signed = false, z_signed = false;
  float x_scale = 1, x_shift = 0, y_scale = 1, y_shift = 0, z_shift = 0;
  float low = 0, high = 255;
};
void combine(const Combine& what, const std::uint8_t* x, const std::uint8_t* y, std::uint8_t* z, std::size_t count);

/// y = base + step * (round((x - low) * scale, clamped to [0, top]) - origin): real numbers on `top` + 1 levels. The
/// origin is the level that stands for zero, if one does (the base is then 0).
struct Levels {
  float low = 0, scale = 1, top = 255, origin = 0, step = 1, base = 0;
};
/// Over rows of `columns`; row i takes levels[i % levels.size()].
void round_to_levels(const std::vector<Levels>& levels, const float* x, float* y, std::size_t rows,
                     std::size_t columns);

}  // namespace tenon::inline v1::engine::kernels
