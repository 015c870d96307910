// SPDX-License-Identifier: Apache-2.0
// Scans.
#include <tenon/drivers/vaapi/codec/bits.hpp>

#include <array>

namespace tenon::va {
namespace {

/// Diagonals in turn upwards and downwards, beginning to the right.
template <int kSide>
constexpr auto make_zigzag() {
  std::array<std::uint8_t, kSide * kSide> scan{};
  std::size_t at = 0;
  for (int sum = 0; sum < 2 * kSide - 1; ++sum) {
    for (int i = 0; i <= sum; ++i) {
      const int row = sum % 2 ? i : sum - i, column = sum - row;
      if (row < kSide && column < kSide) scan[at++] = static_cast<std::uint8_t>(row * kSide + column);
    }
  }
  return scan;
}

constexpr auto kZigzag4 = make_zigzag<4>();
constexpr auto kZigzag8 = make_zigzag<8>();
static_assert(kZigzag4[1] == 1 && kZigzag4[2] == 4 && kZigzag4[3] == 8 && kZigzag4[13] == 11);

}  // namespace

std::span<const std::uint8_t> zigzag(int side) {
  return side == 4 ? std::span<const std::uint8_t>(kZigzag4) : kZigzag8;
}

}  // namespace tenon::va
