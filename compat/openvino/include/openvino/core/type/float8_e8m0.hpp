// SPDX-License-Identifier: Apache-2.0
// A floating-point type of 8 bits of exponent: powers of two.
#pragma once

#include <cstdint>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/type/small_float.hpp"

namespace ov {

/// A number of 8 bits of exponent: powers of two; as scales of blocks have them. It computes as float does, and rounds to the nearest, ties to even.
class float8_e8m0 : public detail::SmallFloat<float8_e8m0, std::uint8_t> {
 public:
  float8_e8m0() = default;
  float8_e8m0(float value) : SmallFloat(rounded(value)) {}
  template <typename I>
  explicit float8_e8m0(I value) : float8_e8m0(static_cast<float>(value)) {}
  using SmallFloat::from_bits;
  using SmallFloat::to_bits;
  OPENVINO_API operator float() const;

 private:
  friend class detail::SmallFloat<float8_e8m0, std::uint8_t>;
  OPENVINO_API static std::uint8_t rounded(float value);
};

}  // namespace ov
