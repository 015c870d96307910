// SPDX-License-Identifier: Apache-2.0
// A loop for each pair of types, which compilers make vectors of.
#include <tenon/engine/kernels/simd/convert.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tenon/engine/kernels/simd/bf16.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/kernels/simd/half.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

/// Not bool, whose memory may hold no other numbers than 0 and 1.
enum class Truth : std::uint8_t {};

template <typename D, typename S>
D converted(S value) {
  if constexpr (std::is_same_v<S, Bf16>) {
    return converted<D>(value.to_float());
  } else if constexpr (std::is_same_v<S, Truth>) {
    return converted<D>(static_cast<std::uint8_t>(value != Truth{}));
  } else if constexpr (std::is_same_v<D, Truth>) {
    return static_cast<Truth>(value != S{});
  } else if constexpr (std::is_same_v<D, Bf16>) {
    return Bf16(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D> && sizeof(D) <= 2) {
    // Without branches: both limits are such numbers.
    const S low = std::numeric_limits<D>::min(), high = std::numeric_limits<D>::max();
    const S number = value == value ? value : S{0};
    return static_cast<D>(static_cast<std::int32_t>(std::min(std::max(number, low), high)));
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D>) {
    if (!(value == value)) return 0;
    if (value >= static_cast<S>(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
    if (value <= static_cast<S>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    return static_cast<D>(value);
  } else {
    return static_cast<D>(value);
  }
}

/// Calls body() with a number of the type; for f16 and types that convert() does not know not at all.
template <typename Body>
bool with_number(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::kF64:
      return body(double{}), true;
    case ElementType::kF32:
      return body(float{}), true;
    case ElementType::kBf16:
      return body(Bf16{}), true;
    case ElementType::kI64:
      return body(std::int64_t{}), true;
    case ElementType::kI32:
      return body(std::int32_t{}), true;
    case ElementType::kI16:
      return body(std::int16_t{}), true;
    case ElementType::kI8:
      return body(std::int8_t{}), true;
    case ElementType::kU64:
      return body(std::uint64_t{}), true;
    case ElementType::kU32:
      return body(std::uint32_t{}), true;
    case ElementType::kU16:
      return body(std::uint16_t{}), true;
    case ElementType::kU8:
      return body(std::uint8_t{}), true;
    case ElementType::kBool:
      return body(Truth{}), true;
    default:
      return false;
  }
}

void convert_range(ElementType from, const void* x, ElementType to, void* y, std::size_t begin, std::size_t end) {
  with_number(from, [&]<typename S>(S) {
    with_number(to, [&]<typename D>(D) {
      const S* in = static_cast<const S*>(x);
      D* out = static_cast<D*>(y);
      for (std::size_t i = begin; i < end; ++i) out[i] = converted<D>(in[i]);
    });
  });
}

/// f16 from or to another type, by way of f32.
void convert_halves(ElementType from, const void* x, ElementType to, void* y, std::size_t begin, std::size_t end) {
  constexpr std::size_t kChunk = 1024;
  float room[kChunk];
  for (std::size_t at = begin; at < end; at += kChunk) {
    const std::size_t count = std::min(kChunk, end - at);
    if (from == ElementType::kF16) {
      half_to_float(static_cast<const std::uint16_t*>(x) + at, room, count);
      convert_range(ElementType::kF32, room, to, static_cast<char*>(y) + at * size_bytes(to), 0, count);
    } else {
      convert_range(from, static_cast<const char*>(x) + at * size_bytes(from), ElementType::kF32, room, 0, count);
      float_to_half(room, static_cast<std::uint16_t*>(y) + at, count);
    }
  }
}

bool is_number(ElementType type) {
  return type == ElementType::kF16 || with_number(type, [](auto) {});
}

}  // namespace

bool converts(ElementType from, ElementType to) { return is_number(from) && is_number(to); }

void convert(ElementType from, const void* x, ElementType to, void* y, std::size_t count) {
  const bool has_halves = from == ElementType::kF16 || to == ElementType::kF16;
  parallel(count, count * (size_bytes(from) + size_bytes(to)), [&](std::size_t begin, std::size_t end) {
    has_halves ? convert_halves(from, x, to, y, begin, end) : convert_range(from, x, to, y, begin, end);
  });
}

}  // namespace tenon::inline v1::engine::kernels
