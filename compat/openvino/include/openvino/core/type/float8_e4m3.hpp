// SPDX-License-Identifier: Apache-2.0
// A floating-point type of 8 bits: 4 of exponent, 3 of fraction.
#pragma once

#include <cstdint>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/type/small_float.hpp"

namespace ov {

/// A number of 8 bits: 4 of exponent, 3 of fraction; no infinity; 448 is the largest. It computes as float does, and rounds to the nearest, ties to even.
class float8_e4m3 : public detail::SmallFloat<float8_e4m3, std::uint8_t> {
 public:
  float8_e4m3() = default;
  float8_e4m3(float value) : SmallFloat(rounded(value)) {}
  template <typename I>
  explicit float8_e4m3(I value) : float8_e4m3(static_cast<float>(value)) {}
  float8_e4m3(std::uint32_t sign, std::uint32_t biased_exponent, std::uint32_t fraction)
      : SmallFloat(static_cast<std::uint8_t>(sign << 7 | biased_exponent << 3 | fraction)) {}
  using SmallFloat::from_bits;
  using SmallFloat::to_bits;
  OPENVINO_API operator float() const;

 private:
  friend class detail::SmallFloat<float8_e4m3, std::uint8_t>;
  OPENVINO_API static std::uint8_t rounded(float value);
};

}  // namespace ov
