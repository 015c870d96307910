// SPDX-License-Identifier: Apache-2.0
// The C++ type of an element type.
#pragma once

#include <cstdint>
#include <string>

#include "openvino/core/type/element_type.hpp"

namespace ov {

template <element::Type_t>
struct element_type_traits {};
#define OV_TENON_TRAIT(name, type)                    \
  template <>                                         \
  struct element_type_traits<element::Type_t::name> { \
    using value_type = type;                          \
  };
OV_TENON_TRAIT(boolean, char)
OV_TENON_TRAIT(bf16, bfloat16)
OV_TENON_TRAIT(f16, float16)
OV_TENON_TRAIT(f32, float)
OV_TENON_TRAIT(f64, double)
OV_TENON_TRAIT(i4, std::int8_t)
OV_TENON_TRAIT(i8, std::int8_t)
OV_TENON_TRAIT(i16, std::int16_t)
OV_TENON_TRAIT(i32, std::int32_t)
OV_TENON_TRAIT(i64, std::int64_t)
OV_TENON_TRAIT(u1, std::int8_t)
OV_TENON_TRAIT(u4, std::int8_t)
OV_TENON_TRAIT(u8, std::uint8_t)
OV_TENON_TRAIT(u16, std::uint16_t)
OV_TENON_TRAIT(u32, std::uint32_t)
OV_TENON_TRAIT(u64, std::uint64_t)
OV_TENON_TRAIT(u2, std::int8_t)
OV_TENON_TRAIT(u3, std::int8_t)
OV_TENON_TRAIT(u6, std::int8_t)
OV_TENON_TRAIT(nf4, std::int8_t)
OV_TENON_TRAIT(f8e4m3, float8_e4m3)
OV_TENON_TRAIT(f8e5m2, float8_e5m2)
OV_TENON_TRAIT(f8e8m0, float8_e8m0)
OV_TENON_TRAIT(f4e2m1, float4_e2m1)
OV_TENON_TRAIT(string, std::string)
#undef OV_TENON_TRAIT
template <element::Type_t Type>
using fundamental_type_for = typename element_type_traits<Type>::value_type;

}  // namespace ov
