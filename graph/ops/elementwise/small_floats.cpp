// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of 4 and 8 bits: their values, and rounding to them.
#include <tenon/graph/small_floats.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/graph/ops/nf4.hpp>

namespace tenon {
inline namespace v1 {

namespace {
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

/// Codes without their sign ascend with their values: 0 .. last are finite, and `overflow` is the code of larger
/// values.
struct Format {
  int mantissa = 0, bias = 0;
  std::uint8_t sign = 0, last = 0, overflow = 0, nan = 0;
  bool has_infinity = false, has_negative_zero = true;
};

constexpr Format format_of(ElementType type) {
  switch (type) {
    case ElementType::kF8E4M3:
      return {3, 7, 0x80, 0x7e, 0x7f, 0x7f};
    case ElementType::kF8E5M2:
      return {2, 15, 0x80, 0x7b, 0x7c, 0x7f, true};
    case ElementType::kF8E4M3Fnuz:
      return {3, 8, 0x80, 0x7f, 0x80, 0x80, false, false};
    case ElementType::kF8E5M2Fnuz:
      return {2, 16, 0x80, 0x7f, 0x80, 0x80, false, false};
    case ElementType::kF4E2M1:
      return {1, 1, 0x8, 0x7, 0x7, 0x7};  // Without NaN, which becomes the largest value, as in OpenVINO.
    default:
      throw Error(Code::kInternal, std::string(name(type)) + " is no small float with a mantissa");
  }
}

float decode(const Format& format, std::uint8_t code) {
  const int magnitude = code & (format.sign - 1), sign = code & format.sign ? -1 : 1;
  if (!format.has_negative_zero && code == format.nan) return kNaN;
  if (magnitude > format.last) return format.has_infinity && magnitude == format.overflow ? sign * kInfinity : kNaN;
  const int exponent = magnitude >> format.mantissa, fraction = magnitude & ((1 << format.mantissa) - 1);
  const int whole = exponent > 0 ? (1 << format.mantissa) + fraction : fraction;
  const float value = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - format.bias - format.mantissa);
  return sign < 0 ? -value : value;
}

using Table = std::array<float, 256>;

Table table_of(ElementType type) {
  Table table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    if (type == ElementType::kNf4)
      table[i] = kNf4Numbers[i % 16];
    else if (type == ElementType::kF8E8M0)
      table[i] = i == 255 ? kNaN : std::ldexp(1.0f, static_cast<int>(i) - 127);
    else
      table[i] = decode(format_of(type), type == ElementType::kF4E2M1 ? code & 15 : code);
  }
  return table;
}

template <ElementType type>
const Table& table() {
  static const Table values = table_of(type);
  return values;
}

const Table& values_of(ElementType type) {
  switch (type) {
    case ElementType::kF8E4M3:
      return table<ElementType::kF8E4M3>();
    case ElementType::kF8E5M2:
      return table<ElementType::kF8E5M2>();
    case ElementType::kF8E4M3Fnuz:
      return table<ElementType::kF8E4M3Fnuz>();
    case ElementType::kF8E5M2Fnuz:
      return table<ElementType::kF8E5M2Fnuz>();
    case ElementType::kF8E8M0:
      return table<ElementType::kF8E8M0>();
    case ElementType::kF4E2M1:
      return table<ElementType::kF4E2M1>();
    case ElementType::kNf4:
      return table<ElementType::kNf4>();
    default:
      throw Error(Code::kInternal, std::string(name(type)) + " is no small float");
  }
}

std::uint8_t encode_nf4(float value) {
  if (!(value > kNf4Numbers[0])) return 0;  // NaN as well, as in OpenVINO.
  std::uint8_t code = 15;
  for (std::size_t i = 0; i + 1 < kNf4Numbers.size(); ++i) {
    if (value <= (kNf4Numbers[i] + kNf4Numbers[i + 1]) / 2) {
      code = static_cast<std::uint8_t>(i);
      break;
    }
  }
  return code;
}

std::uint8_t encode_e8m0(float value) {
  if (value != value) return 255;
  if (value == kInfinity) return 254;
  if (!(value > 0)) return 0;
  if (value < 0x1p-126f) return value <= 0x1.8p-127f ? 0 : 1;  // Below are floats without their leading one.
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);  // In [0.5, 1).
  const int code = exponent - 1 + 127 + (fraction > 0.75f || (fraction == 0.75f && (exponent & 1)) ? 1 : 0);
  return static_cast<std::uint8_t>(std::min(code, 254));
}

std::uint8_t encode(const Format& format, float value) {
  if (value != value) return format.nan;
  const std::uint8_t sign = std::signbit(value) ? format.sign : 0;
  const float magnitude = std::abs(value);
  int code = format.last + 1;
  if (magnitude != kInfinity) {
    const int smallest = 1 - format.bias;
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), smallest) : smallest;
    // An integer in units of the last place: rounding up to the next power of two carries into the exponent.
    const double whole = std::nearbyint(std::ldexp(static_cast<double>(magnitude), format.mantissa - exponent));
    code = ((exponent - smallest) << format.mantissa) + static_cast<int>(whole);
  }
  if (code > format.last) {
    if (format.overflow == format.nan && format.nan == format.sign) return format.nan;
    return static_cast<std::uint8_t>(format.overflow | sign);
  }
  if (code == 0 && !format.has_negative_zero) return 0;
  return static_cast<std::uint8_t>(code | sign);
}
}  // namespace

float small_float_value(ElementType type, std::uint8_t code) { return values_of(type)[code]; }

std::uint8_t small_float_code(ElementType type, float value) {
  if (type == ElementType::kNf4) return encode_nf4(value);
  if (type == ElementType::kF8E8M0) return encode_e8m0(value);
  return encode(format_of(type), value);
}

}  // namespace v1
}  // namespace tenon
