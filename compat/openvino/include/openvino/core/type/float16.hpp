// SPDX-License-Identifier: Apache-2.0
// The 16-bit floating-point type of IEEE 754.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "openvino/core/type/small_float.hpp"

namespace ov {

/// A number of 5 bits of exponent and 10 of fraction. It computes as float does, and rounds to the nearest, ties to even.
class float16 : public detail::SmallFloat<float16, std::uint16_t> {
 public:
  float16() = default;
  float16(float value) : SmallFloat(rounded(value)) {}
  template <typename I>
  explicit float16(I value) : float16(static_cast<float>(value)) {}
  float16(std::uint32_t sign, std::uint32_t biased_exponent, std::uint32_t fraction)
      : SmallFloat(static_cast<std::uint16_t>(sign << 15 | biased_exponent << 10 | fraction)) {}
  using SmallFloat::from_bits;
  using SmallFloat::to_bits;
  operator float() const;
  static constexpr std::uint32_t frac_size = 10;
  static constexpr std::uint32_t exp_size = 5;
  static constexpr std::uint32_t exp_bias = 15;

 private:
  friend class detail::SmallFloat<float16, std::uint16_t>;
  static std::uint16_t rounded(float value);
};

inline float16::operator float() const {
  const int exponent = bits_ >> 10 & 31;
  const int fraction = bits_ & 1023;
  float value = exponent == 31
                    ? (fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity())
                : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return std::copysign(value, bits_ & 0x8000 ? -1.0F : 1.0F);
}
inline std::uint16_t float16::rounded(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00);
  int exponent = 0;
  std::frexp(size, &exponent);  // size is in [2^(exponent - 1), 2^exponent).
  // The unit in the last place of 11 bits; below 2^-14 it stays that of the smallest numbers.
  const int unit = exponent < -13 ? -24 : exponent - 11;
  const auto count = static_cast<int>(std::nearbyint(std::ldexp(size, -unit)));  // May be 2048, which carries.
  return static_cast<std::uint16_t>(sign | (count + ((unit + 24) << 10)));
}

}  // namespace ov

template <>
class std::numeric_limits<ov::float16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr int radix = 2, digits = 11, digits10 = 3;
  static constexpr ov::float16 min() noexcept { return ov::float16::from_bits(0x0400); }
  static constexpr ov::float16 max() noexcept { return ov::float16::from_bits(0x7BFF); }
  static constexpr ov::float16 lowest() noexcept { return ov::float16::from_bits(0xFBFF); }
  static constexpr ov::float16 epsilon() noexcept { return ov::float16::from_bits(0x1400); }
  static constexpr ov::float16 infinity() noexcept { return ov::float16::from_bits(0x7C00); }
  static constexpr ov::float16 quiet_NaN() noexcept { return ov::float16::from_bits(0x7E00); }
  static constexpr ov::float16 denorm_min() noexcept { return ov::float16::from_bits(0x0001); }
};
namespace std {
inline bool isnan(ov::float16 value) { return isnan(static_cast<float>(value)); }
}  // namespace std
