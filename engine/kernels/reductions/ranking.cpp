// SPDX-License-Identifier: Apache-2.0
// Selects by counting, since comparing keys in random order is mostly waiting for branches.
#include <tenon/engine/kernels/reductions/ranking.hpp>

#include <algorithm>
#include <array>
#include <functional>

namespace tenon::inline v1::engine::kernels {

void rank_greatest(std::vector<std::uint64_t>& keys, std::size_t wanted) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kLeast = 512;
  if (wanted == 0) return;
  std::size_t candidates = keys.size();
  if (wanted < candidates && candidates > kLeast) {
    // Equal steps between the least and the greatest: numbers of a model are often near each other.
    std::uint64_t least = keys[0], greatest = keys[0];
    for (const std::uint64_t key : keys) {
      least = std::min(least, key);
      greatest = std::max(greatest, key);
    }
    const auto width = static_cast<unsigned>(std::bit_width(greatest - least)),
               shift = width > kBits ? width - kBits : 0;
    std::array<std::uint32_t, std::size_t{1} << kBits> counts{};
    for (const std::uint64_t key : keys) ++counts[(key - least) >> shift];
    std::size_t bucket = counts.size(), covered = 0;
    while (covered < wanted) covered += counts[--bucket];
    const std::uint64_t bound = least + (std::uint64_t{bucket} << shift);
    candidates = 0;
    for (const std::uint64_t key : keys) {
      keys[candidates] = key;
      candidates += key >= bound;
    }
  }
  const auto begin = keys.begin(), middle = begin + static_cast<std::ptrdiff_t>(wanted),
             end = begin + static_cast<std::ptrdiff_t>(candidates);
  if (candidates > 2 * wanted) std::nth_element(begin, middle, end, std::greater<>());
  std::sort(begin, candidates > 2 * wanted ? middle : end, std::greater<>());
}

}  // namespace tenon::inline v1::engine::kernels
