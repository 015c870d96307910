// SPDX-License-Identifier: Apache-2.0
// bf16 in scalar code: the upper half of an f32.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

struct Bf16 {
  std::uint16_t bits = 0;
  Bf16() = default;
  /// Rounded to nearest, ties to even; NaN stays NaN.
  explicit Bf16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (all & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(is_nan ? (all >> 16) | 0x40u : (all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
  }
  float to_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace tenon::inline v1::engine::kernels
