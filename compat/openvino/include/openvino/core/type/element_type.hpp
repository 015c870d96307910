// SPDX-License-Identifier: Apache-2.0
// The types of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/except.hpp"
#include "openvino/core/type/bfloat16.hpp"
#include "openvino/core/type/float16.hpp"
#include "openvino/core/type/float4_e2m1.hpp"
#include "openvino/core/type/float8_e4m3.hpp"
#include "openvino/core/type/float8_e5m2.hpp"
#include "openvino/core/type/float8_e8m0.hpp"

namespace ov {
namespace element {

/// u2, u3 and u6 have names here, and no tensors in Tenon.
enum class Type_t {
  dynamic,
  boolean,
  bf16,
  f16,
  f32,
  f64,
  i4,
  i8,
  i16,
  i32,
  i64,
  u1,
  u2,
  u3,
  u4,
  u6,
  u8,
  u16,
  u32,
  u64,
  nf4,
  f8e4m3,
  f8e5m2,
  string,
  f4e2m1,
  f8e8m0
};

class OPENVINO_API Type {
 public:
  constexpr Type() = default;
  constexpr Type(const Type_t t) : type_(t) {}
  /// "f32", "boolean", also "FP32". @errors Exception
  explicit Type(const std::string& text);
  constexpr operator Type_t() const { return type_; }

  /// All but dynamic.
  static std::vector<const Type*> get_known_types();
  std::size_t bitwidth() const;
  std::size_t size() const { return (bitwidth() + 7) / 8; }
  std::size_t hash() const { return static_cast<std::size_t>(type_); }
  constexpr bool is_dynamic() const { return type_ == Type_t::dynamic; }
  constexpr bool is_static() const { return !is_dynamic(); }
  bool is_real() const;
  bool is_integral() const { return !is_real(); }
  bool is_integral_number() const;
  bool is_signed() const;
  bool is_quantized() const;
  std::string c_type_string() const;
  std::string get_type_name() const;
  std::string to_string() const { return get_type_name(); }
  bool compatible(const Type& other) const { return is_dynamic() || other.is_dynamic() || type_ == other.type_; }
  static bool merge(Type& dst, const Type& a, const Type& b) {
    if (!a.compatible(b)) return false;
    dst = a.is_dynamic() ? b : a;
    return true;
  }

 private:
  Type_t type_ = Type_t::dynamic;
};
using TypeVector = std::vector<Type>;

inline constexpr Type dynamic(Type_t::dynamic), boolean(Type_t::boolean), bf16(Type_t::bf16), f16(Type_t::f16),
    f32(Type_t::f32), f64(Type_t::f64), i4(Type_t::i4), i8(Type_t::i8), i16(Type_t::i16), i32(Type_t::i32),
    i64(Type_t::i64), u1(Type_t::u1), u2(Type_t::u2), u3(Type_t::u3), u4(Type_t::u4), u6(Type_t::u6), u8(Type_t::u8),
    u16(Type_t::u16), u32(Type_t::u32), u64(Type_t::u64), nf4(Type_t::nf4), f8e4m3(Type_t::f8e4m3),
    f8e5m2(Type_t::f8e5m2), string(Type_t::string), f4e2m1(Type_t::f4e2m1), f8e8m0(Type_t::f8e8m0);

/// The element type of a C++ type. A type that no tensor stores is an error of the compiler.
template <typename T>
constexpr Type from() {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, char>)
    return boolean;
  else if constexpr (std::is_same_v<T, float16>)
    return f16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return bf16;
  else if constexpr (std::is_same_v<T, float>)
    return f32;
  else if constexpr (std::is_same_v<T, double>)
    return f64;
  else if constexpr (std::is_same_v<T, float8_e4m3>)
    return f8e4m3;
  else if constexpr (std::is_same_v<T, float8_e5m2>)
    return f8e5m2;
  else if constexpr (std::is_same_v<T, float8_e8m0>)
    return f8e8m0;
  else if constexpr (std::is_same_v<T, float4_e2m1>)
    return f4e2m1;
  else if constexpr (std::is_same_v<T, std::string>)
    return string;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "no tensor has elements of this type");
    constexpr Type kSigned[] = {i8, i16, i32, i64}, kUnsigned[] = {u8, u16, u32, u64};
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog] : kUnsigned[kLog];
  }
}

OPENVINO_API std::ostream& operator<<(std::ostream& out, const Type& type);
OPENVINO_API std::istream& operator>>(std::istream& in, Type& type);

}  // namespace element
}  // namespace ov
