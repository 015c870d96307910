// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, with their sizes and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ios>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {
inline namespace v1 {

/// Type of one element. Sub-byte types are packed, low bits first; their tensors have no byte strides.
enum class ElementType : std::uint8_t {
  kUndefined,
  kBool,  ///< One byte, 0 or 1.
  kF64,
  kF32,
  kF16,
  kBf16,
  kI64,
  kI32,
  kI16,
  kI8,
  kI4,
  kU64,
  kU32,
  kU16,
  kU8,
  kU4,
  kU1,
  kF8E4M3,      ///< OCP: 4 bits of exponent, 3 of mantissa, NaN, no infinity, up to 448.
  kF8E5M2,      ///< OCP: 5 bits of exponent, 2 of mantissa, NaN and infinities, up to 57344.
  kF8E4M3Fnuz,  ///< As kF8E4M3, but one NaN in the place of -0, up to 240.
  kF8E5M2Fnuz,  ///< As kF8E5M2, but one NaN in the place of -0, no infinities.
  kF8E8M0,      ///< A power of two, for scales: 2^-127 to 2^127, or NaN.
  kF4E2M1,      ///< 0, 0.5, 1, 1.5, 2, 3, 4, 6, and their negatives.
  kNf4,         ///< One of 16 quantiles of a normal distribution, -1 to 1.
  kString,      ///< A std::string object in host memory: see Tensor.
};

/// Properties of an element type. `bits` is 0 only for kUndefined.
struct ElementTypeInfo {
  ElementType type;
  std::string_view name;  ///< OpenVINO's short name: "f32", "u8", "boolean".
  std::uint16_t bits;
  bool is_real;
  bool is_signed;
};

inline constexpr ElementTypeInfo kElementTypes[] = {
    {ElementType::kUndefined, "dynamic", 0, false, false},
    {ElementType::kBool, "boolean", 8, false, false},
    {ElementType::kF64, "f64", 64, true, true},
    {ElementType::kF32, "f32", 32, true, true},
    {ElementType::kF16, "f16", 16, true, true},
    {ElementType::kBf16, "bf16", 16, true, true},
    {ElementType::kI64, "i64", 64, false, true},
    {ElementType::kI32, "i32", 32, false, true},
    {ElementType::kI16, "i16", 16, false, true},
    {ElementType::kI8, "i8", 8, false, true},
    {ElementType::kI4, "i4", 4, false, true},
    {ElementType::kU64, "u64", 64, false, false},
    {ElementType::kU32, "u32", 32, false, false},
    {ElementType::kU16, "u16", 16, false, false},
    {ElementType::kU8, "u8", 8, false, false},
    {ElementType::kU4, "u4", 4, false, false},
    {ElementType::kU1, "u1", 1, false, false},
    {ElementType::kF8E4M3, "f8e4m3", 8, true, true},
    {ElementType::kF8E5M2, "f8e5m2", 8, true, true},
    {ElementType::kF8E4M3Fnuz, "f8e4m3fnuz", 8, true, true},
    {ElementType::kF8E5M2Fnuz, "f8e5m2fnuz", 8, true, true},
    {ElementType::kF8E8M0, "f8e8m0", 8, true, false},
    {ElementType::kF4E2M1, "f4e2m1", 4, true, true},
    {ElementType::kNf4, "nf4", 4, true, true},
    {ElementType::kString, "string", sizeof(std::string) * 8, false, false},
};

constexpr const ElementTypeInfo& info(ElementType type) { return kElementTypes[static_cast<std::size_t>(type)]; }
constexpr std::size_t bit_width(ElementType type) { return info(type).bits; }
/// Bytes of one element; 0 for kUndefined and for sub-byte types.
constexpr std::size_t size_bytes(ElementType type) { return info(type).bits / 8; }
constexpr std::string_view name(ElementType type) { return info(type).name; }
constexpr std::optional<ElementType> element_type_from_name(std::string_view text) {
  for (const auto& entry : kElementTypes) {
    if (entry.name == text) return entry.type;
  }
  // Further names in IR files and OpenVINO's properties.
  struct Alias {
    std::string_view text;
    ElementType type;
  };
  constexpr Alias kAliases[] = {{"undefined", ElementType::kUndefined},
                                {"UNSPECIFIED", ElementType::kUndefined},
                                {"bool", ElementType::kBool},
                                {"BOOL", ElementType::kBool},
                                {"FP64", ElementType::kF64},
                                {"FP32", ElementType::kF32},
                                {"FP16", ElementType::kF16},
                                {"BF16", ElementType::kBf16},
                                {"I64", ElementType::kI64},
                                {"I32", ElementType::kI32},
                                {"I16", ElementType::kI16},
                                {"I8", ElementType::kI8},
                                {"I4", ElementType::kI4},
                                {"U64", ElementType::kU64},
                                {"U32", ElementType::kU32},
                                {"U16", ElementType::kU16},
                                {"U8", ElementType::kU8},
                                {"U4", ElementType::kU4},
                                {"U1", ElementType::kU1},
                                {"BIN", ElementType::kU1},
                                {"NF4", ElementType::kNf4},
                                {"F8E4M3", ElementType::kF8E4M3},
                                {"F8E5M2", ElementType::kF8E5M2},
                                {"F8E8M0", ElementType::kF8E8M0},
                                {"F4E2M1", ElementType::kF4E2M1}};
  for (const Alias& alias : kAliases) {
    if (alias.text == text) return alias.type;
  }
  return std::nullopt;
}

/// The element type that a C++ type stores: every arithmetic type and std::string have one.
template <typename T>
constexpr ElementType element_type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return ElementType::kBool;
  else if constexpr (std::is_same_v<U, double>)
    return ElementType::kF64;
  else if constexpr (std::is_same_v<U, float>)
    return ElementType::kF32;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 8)
    return std::is_signed_v<U> ? ElementType::kI64 : ElementType::kU64;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 4)
    return std::is_signed_v<U> ? ElementType::kI32 : ElementType::kU32;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 2)
    return std::is_signed_v<U> ? ElementType::kI16 : ElementType::kU16;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 1)
    return std::is_signed_v<U> ? ElementType::kI8 : ElementType::kU8;
  else if constexpr (std::is_same_v<U, std::string>)
    return ElementType::kString;
  else
    return ElementType::kUndefined;
}

}  // namespace v1
}  // namespace tenon

/// OpenVINO's spelling of element types: `element::f32` is an `element::Type`, which converts from and to ElementType.
namespace tenon {
inline namespace v1 {
namespace element {
class Type {
 public:
  constexpr Type() = default;
  constexpr Type(ElementType type) : type_(type) {}
  constexpr operator ElementType() const { return type_; }
  constexpr std::size_t bitwidth() const { return bit_width(type_); }
  constexpr std::size_t size() const { return (bit_width(type_) + 7) / 8; }
  constexpr bool is_real() const { return info(type_).is_real; }
  constexpr bool is_integral() const { return !info(type_).is_real && type_ != ElementType::kString; }
  constexpr bool is_signed() const { return info(type_).is_signed; }
  constexpr bool is_dynamic() const { return type_ == ElementType::kUndefined; }
  constexpr bool is_static() const { return !is_dynamic(); }
  std::string get_type_name() const { return std::string(name(type_)); }
  std::string to_string() const { return get_type_name(); }
  friend constexpr bool operator==(Type a, Type b) { return a.type_ == b.type_; }
  friend constexpr bool operator==(Type a, ElementType b) { return a.type_ == b; }
  friend std::ostream& operator<<(std::ostream& out, Type type) { return out << name(type.type_); }
  friend std::istream& operator>>(std::istream& in, Type& type) {
    std::string text;
    in >> text;
    if (const auto found = element_type_from_name(text))
      type = *found;
    else
      in.setstate(std::ios::failbit);
    return in;
  }

 private:
  ElementType type_ = ElementType::kUndefined;
};
inline constexpr Type dynamic{ElementType::kUndefined}, boolean{ElementType::kBool}, f64{ElementType::kF64},
    f32{ElementType::kF32}, f16{ElementType::kF16}, bf16{ElementType::kBf16}, i64{ElementType::kI64},
    i32{ElementType::kI32}, i16{ElementType::kI16}, i8{ElementType::kI8}, i4{ElementType::kI4}, u64{ElementType::kU64},
    u32{ElementType::kU32}, u16{ElementType::kU16}, u8{ElementType::kU8}, u4{ElementType::kU4}, u1{ElementType::kU1},
    f8e4m3{ElementType::kF8E4M3}, f8e5m2{ElementType::kF8E5M2}, f8e8m0{ElementType::kF8E8M0},
    f4e2m1{ElementType::kF4E2M1}, nf4{ElementType::kNf4}, string{ElementType::kString};
}  // namespace element
}  // namespace v1
}  // namespace tenon
