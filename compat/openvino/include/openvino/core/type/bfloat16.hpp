// SPDX-License-Identifier: Apache-2.0
// The upper half of a float.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// A number of 8 bits of exponent and 7 of fraction. It computes as float does, and rounds to the nearest, ties to even.
class bfloat16 {
 public:
  bfloat16() = default;
  bfloat16(float value) : bits_(rounded(value)) {}
  template <typename I>
  explicit bfloat16(I value) : bfloat16(static_cast<float>(value)) {}
  static constexpr bfloat16 from_bits(std::uint16_t bits) { return bfloat16(bits, true); }
  std::uint16_t to_bits() const { return bits_; }
  operator float() const;

  template <typename T>
  bool operator==(const T& other) const {
    return static_cast<float>(*this) == static_cast<float>(other);
  }
  template <typename T>
  bool operator!=(const T& other) const {
    return !(*this == other);
  }
  template <typename T>
  bool operator<(const T& other) const {
    return static_cast<float>(*this) < static_cast<float>(other);
  }
  template <typename T>
  bool operator<=(const T& other) const {
    return static_cast<float>(*this) <= static_cast<float>(other);
  }
  template <typename T>
  bool operator>(const T& other) const {
    return static_cast<float>(*this) > static_cast<float>(other);
  }
  template <typename T>
  bool operator>=(const T& other) const {
    return static_cast<float>(*this) >= static_cast<float>(other);
  }
  template <typename T>
  bfloat16 operator+(const T& other) const {
    return bfloat16(static_cast<float>(*this) + static_cast<float>(other));
  }
  template <typename T>
  bfloat16 operator-(const T& other) const {
    return bfloat16(static_cast<float>(*this) - static_cast<float>(other));
  }
  template <typename T>
  bfloat16 operator*(const T& other) const {
    return bfloat16(static_cast<float>(*this) * static_cast<float>(other));
  }
  template <typename T>
  bfloat16 operator/(const T& other) const {
    return bfloat16(static_cast<float>(*this) / static_cast<float>(other));
  }
  template <typename T>
  bfloat16& operator+=(const T& other) {
    return *this = *this + other;
  }
  template <typename T>
  bfloat16& operator-=(const T& other) {
    return *this = *this - other;
  }
  template <typename T>
  bfloat16& operator*=(const T& other) {
    return *this = *this * other;
  }
  template <typename T>
  bfloat16& operator/=(const T& other) {
    return *this = *this / other;
  }
  friend std::ostream& operator<<(std::ostream& out, const bfloat16& value) { return out << static_cast<float>(value); }

 private:
  constexpr bfloat16(std::uint16_t bits, bool) : bits_(bits) {}
  static std::uint16_t rounded(float value);
  std::uint16_t bits_;
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
