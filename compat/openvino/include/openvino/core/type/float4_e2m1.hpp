// SPDX-License-Identifier: Apache-2.0
// A floating-point type of 4 bits: 2 of exponent, 1 of fraction.
#pragma once

#include <cstdint>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/type/small_float.hpp"

namespace ov {

/// A number of 4 bits: 2 of exponent, 1 of fraction; 6 is the largest. It computes as float does, and rounds to the nearest, ties to even.
class float4_e2m1 : public detail::SmallFloat<float4_e2m1, std::uint8_t> {
 public:
  float4_e2m1() = default;
  float4_e2m1(float value) : SmallFloat(rounded(value)) {}
  template <typename I>
  explicit float4_e2m1(I value) : float4_e2m1(static_cast<float>(value)) {}
  using SmallFloat::from_bits;
  using SmallFloat::to_bits;
  OPENVINO_API operator float() const;

 private:
  friend class detail::SmallFloat<float4_e2m1, std::uint8_t>;
  OPENVINO_API static std::uint8_t rounded(float value);
};

}  // namespace ov
