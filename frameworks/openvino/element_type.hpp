// SPDX-License-Identifier: Apache-2.0
// Conversion between Tenon's and OpenVINO's element types.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>

#include <openvino/core/type/element_type.hpp>

#include <tenon/core/edge.hpp>  // IWYU pragma: export
#include <tenon/core/element_type.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

struct TypeMapping {
  ElementType type;
  ov::element::Type_t native;
};

/// The types whose bytes mean the same on both sides. u1 is missing: OpenVINO packs bits from the highest down, Tenon
/// from the lowest up. i4 and u4 have the low nibble first on both sides.
inline constexpr TypeMapping kTypes[] = {
    {ElementType::kBool, ov::element::Type_t::boolean},  {ElementType::kF64, ov::element::Type_t::f64},
    {ElementType::kF32, ov::element::Type_t::f32},       {ElementType::kF16, ov::element::Type_t::f16},
    {ElementType::kBf16, ov::element::Type_t::bf16},     {ElementType::kI64, ov::element::Type_t::i64},
    {ElementType::kI32, ov::element::Type_t::i32},       {ElementType::kI16, ov::element::Type_t::i16},
    {ElementType::kI8, ov::element::Type_t::i8},         {ElementType::kI4, ov::element::Type_t::i4},
    {ElementType::kU64, ov::element::Type_t::u64},       {ElementType::kU32, ov::element::Type_t::u32},
    {ElementType::kU16, ov::element::Type_t::u16},       {ElementType::kU8, ov::element::Type_t::u8},
    {ElementType::kU4, ov::element::Type_t::u4},         {ElementType::kNf4, ov::element::Type_t::nf4},
    {ElementType::kF8E4M3, ov::element::Type_t::f8e4m3}, {ElementType::kF8E5M2, ov::element::Type_t::f8e5m2},
    {ElementType::kF8E8M0, ov::element::Type_t::f8e8m0}, {ElementType::kF4E2M1, ov::element::Type_t::f4e2m1},
};

/// OpenVINO's type with the same bytes; nothing if there is none: see why_not().
constexpr std::optional<ov::element::Type_t> to_native(ElementType type) {
  // A table look-up instead of a search, because every tensor comes through here.
  constexpr auto table = [] {
    std::array<ov::element::Type_t, std::size(kElementTypes)> natives{};  // Zero is `dynamic`.
    for (const TypeMapping& row : kTypes) natives[static_cast<std::size_t>(row.type)] = row.native;
    return natives;
  }();
  const ov::element::Type_t native = table[static_cast<std::size_t>(type)];
  if (native == ov::element::Type_t::dynamic) return std::nullopt;
  return native;
}
constexpr std::optional<ElementType> from_native(ov::element::Type_t native) {
  for (const TypeMapping& row : kTypes) {
    if (row.native == native) return row.type;
  }
  return std::nullopt;
}

/// Why a type has no counterpart on the other side, for messages.
std::string why_not(ElementType type);
std::string why_not(const ov::element::Type& native);

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
