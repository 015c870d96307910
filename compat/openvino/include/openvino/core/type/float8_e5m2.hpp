// SPDX-License-Identifier: Apache-2.0
// A floating-point type of 8 bits: 5 of exponent, 2 of fraction.
#pragma once

#include <cstdint>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/type/small_float.hpp"

namespace ov {

/// A number of 8 bits: 5 of exponent, 2 of fraction; 57344 is the largest, then infinity. It computes as float does, and rounds to the nearest, ties to even.
class float8_e5m2 : public detail::SmallFloat<float8_e5m2, std::uint8_t> {
 public:
  float8_e5m2() = default;
  float8_e5m2(float value) : SmallFloat(rounded(value)) {}
  template <typename I>
  explicit float8_e5m2(I value) : float8_e5m2(static_cast<float>(value)) {}
  float8_e5m2(std::uint32_t sign, std::uint32_t biased_exponent, std::uint32_t fraction)
      : SmallFloat(static_cast<std::uint8_t>(sign << 7 | biased_exponent << 2 | fraction)) {}
  using SmallFloat::from_bits;
  using SmallFloat::to_bits;
  OPENVINO_API operator float() const;

 private:
  friend class detail::SmallFloat<float8_e5m2, std::uint8_t>;
  OPENVINO_API static std::uint8_t rounded(float value);
};

}  // namespace ov
