// SPDX-License-Identifier: Apache-2.0
// The upper half of a float.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "openvino/core/type/small_float.hpp"

namespace ov {

/// A number of 8 bits of exponent and 7 of fraction. It computes as float does, and rounds to the nearest, ties to even.
class bfloat16 : public detail::SmallFloat<bfloat16, std::uint16_t> {
 public:
  bfloat16() = default;
  bfloat16(float value) : SmallFloat(rounded(value)) {}
  template <typename I>
  explicit bfloat16(I value) : bfloat16(static_cast<float>(value)) {}
  bfloat16(std::uint32_t sign, std::uint32_t biased_exponent, std::uint32_t fraction)
      : SmallFloat(static_cast<std::uint16_t>(sign << 15 | biased_exponent << 7 | fraction)) {}
  using SmallFloat::from_bits;
  using SmallFloat::to_bits;
  operator float() const;
  static std::vector<float> to_float_vector(const std::vector<bfloat16>& values) {
    return {values.begin(), values.end()};
  }
  static std::vector<bfloat16> from_float_vector(const std::vector<float>& values) {
    return {values.begin(), values.end()};
  }
  /// The upper half of a float's bits, after half of the last one's unit was added: where that one is odd, always, or never.
  static std::uint16_t round_to_nearest_even(float value) {
    return upper(bits_of(value) + (bits_of(value) >> 1 & 0x8000));
  }
  static std::uint16_t round_to_nearest(float value) { return upper(bits_of(value) + 0x8000); }
  static std::uint16_t truncate(float value) { return upper(bits_of(value)); }

 private:
  friend class detail::SmallFloat<bfloat16, std::uint16_t>;
  static std::uint16_t rounded(float value);
  static std::uint16_t upper(std::uint32_t bits) { return static_cast<std::uint16_t>(bits >> 16); }
  static std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
};

inline bfloat16::operator float() const {
  const std::uint32_t wide = std::uint32_t{bits_} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
inline std::uint16_t bfloat16::rounded(float value) {
  std::uint32_t wide = 0;
  std::memcpy(&wide, &value, sizeof wide);
  if (std::isnan(value)) return static_cast<std::uint16_t>(wide >> 16 | 0x40);
  return static_cast<std::uint16_t>((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
}

}  // namespace ov

template <>
class std::numeric_limits<ov::bfloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr int radix = 2, digits = 8, digits10 = 2;
  static constexpr ov::bfloat16 min() noexcept { return ov::bfloat16::from_bits(0x0080); }
  static constexpr ov::bfloat16 max() noexcept { return ov::bfloat16::from_bits(0x7F7F); }
  static constexpr ov::bfloat16 lowest() noexcept { return ov::bfloat16::from_bits(0xFF7F); }
  static constexpr ov::bfloat16 epsilon() noexcept { return ov::bfloat16::from_bits(0x3C00); }
  static constexpr ov::bfloat16 infinity() noexcept { return ov::bfloat16::from_bits(0x7F80); }
  static constexpr ov::bfloat16 quiet_NaN() noexcept { return ov::bfloat16::from_bits(0x7FC0); }
  static constexpr ov::bfloat16 denorm_min() noexcept { return ov::bfloat16::from_bits(0x0001); }
};
namespace std {
inline bool isnan(ov::bfloat16 value) { return isnan(static_cast<float>(value)); }
}  // namespace std
