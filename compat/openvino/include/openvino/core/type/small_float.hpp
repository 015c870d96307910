// SPDX-License-Identifier: Apache-2.0
// What the floating-point types of few bits have in common.
#pragma once

#include <cstdint>
#include <ostream>

#include "openvino/core/core_visibility.hpp"

namespace ov {
namespace detail {

/// A number that computes as float does, and rounds to the nearest, ties to even. Self converts to and from float.
template <typename Self, typename Bits>
class SmallFloat {
 public:
  SmallFloat() = default;
  static constexpr Self from_bits(Bits bits) {
    Self made{};
    made.bits_ = bits;
    return made;
  }
  Bits to_bits() const { return bits_; }
  template <typename T>
  bool operator==(const T& other) const {
    return value() == static_cast<float>(other);
  }
  template <typename T>
  bool operator!=(const T& other) const {
    return value() != static_cast<float>(other);
  }
  template <typename T>
  bool operator<(const T& other) const {
    return value() < static_cast<float>(other);
  }
  template <typename T>
  bool operator<=(const T& other) const {
    return value() <= static_cast<float>(other);
  }
  template <typename T>
  bool operator>(const T& other) const {
    return value() > static_cast<float>(other);
  }
  template <typename T>
  bool operator>=(const T& other) const {
    return value() >= static_cast<float>(other);
  }
  template <typename T>
  Self operator+(const T& other) const {
    return Self(value() + static_cast<float>(other));
  }
  template <typename T>
  Self& operator+=(const T& other) {
    return self() = *this + other;
  }
  template <typename T>
  Self operator-(const T& other) const {
    return Self(value() - static_cast<float>(other));
  }
  template <typename T>
  Self& operator-=(const T& other) {
    return self() = *this - other;
  }
  template <typename T>
  Self operator*(const T& other) const {
    return Self(value() * static_cast<float>(other));
  }
  template <typename T>
  Self& operator*=(const T& other) {
    return self() = *this * other;
  }
  template <typename T>
  Self operator/(const T& other) const {
    return Self(value() / static_cast<float>(other));
  }
  template <typename T>
  Self& operator/=(const T& other) {
    return self() = *this / other;
  }
  friend std::ostream& operator<<(std::ostream& out, const Self& number) { return out << static_cast<float>(number); }

 protected:
  explicit constexpr SmallFloat(Bits bits) : bits_(bits) {}
  Bits bits_;

 private:
  Self& self() { return static_cast<Self&>(*this); }
  float value() const { return static_cast<float>(static_cast<const Self&>(*this)); }
};

}  // namespace detail
}  // namespace ov
