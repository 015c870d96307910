// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of 4 and 8 bits: their values, and rounding to them.
#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// True for the real types of 4 and 8 bits.
constexpr bool is_small_float(ElementType type) { return info(type).is_real && info(type).bits <= 8; }

/// The value of a code; for types of 4 bits only its low bits count. @cost one look-up.
TENON_API float small_float_value(ElementType type, std::uint8_t code);

/// The code of the nearest value, ties to the even code. A value that is too large becomes infinity if the type has
/// one, else NaN if a signed type has it, else the largest value.
TENON_API std::uint8_t small_float_code(ElementType type, float value);

}  // namespace v1
}  // namespace tenon
