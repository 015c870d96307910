// SPDX-License-Identifier: Apache-2.0
// Numbers in order: keys that sort as the numbers do, and the greatest of many keys.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::inline v1::engine::kernels {

/// Greater for greater numbers, equal for equal ones; NaN is the greatest.
inline std::uint32_t order_of(float value) {
  if (value != value) return UINT32_MAX;
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);  // -0 as 0.
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
inline std::uint32_t order_of(std::int32_t value) { return static_cast<std::uint32_t>(value) ^ 0x80000000u; }

/// A number of that order at `index`: greater for greater numbers, and among equal ones for those that come first.
inline std::uint64_t ranked(std::uint32_t order, std::size_t index) {
  return std::uint64_t{order} << 32 | (UINT32_MAX - static_cast<std::uint32_t>(index));
}
inline std::size_t index_of(std::uint64_t key) { return UINT32_MAX - static_cast<std::uint32_t>(key); }

/// Puts the `wanted` greatest of different keys first, the greatest of all in front; wanted <= keys.size(). What follows
/// are not the others. @cost about four passes over the keys, and sorting those that are wanted.
void rank_greatest(std::vector<std::uint64_t>& keys, std::size_t wanted);

}  // namespace tenon::inline v1::engine::kernels
