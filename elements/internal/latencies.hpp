// SPDX-License-Identifier: Apache-2.0
// A histogram of durations, which gives quantiles without keeping each duration.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

/// Counts durations in bands of an eighth of a power of two. @thread any
class Latencies {
 public:
  void add(std::chrono::nanoseconds duration) {
    bands_[band_of(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)))].fetch_add(
        1, std::memory_order_relaxed);
  }
  /// @param shares  Ascending, 0..1.
  template <std::size_t kCount>
  static std::array<std::chrono::nanoseconds, kCount> quantiles(const std::vector<const Latencies*>& all,
                                                                const std::array<double, kCount>& shares) {
    std::array<std::uint64_t, kBands> sum{};
    std::uint64_t total = 0;
    for (const Latencies* one : all) {
      for (std::size_t band = 0; band < kBands; ++band) {
        const std::uint64_t count = one->bands_[band].load(std::memory_order_relaxed);
        sum[band] += count;
        total += count;
      }
    }
    std::array<std::chrono::nanoseconds, kCount> found{};
    std::uint64_t seen = 0;
    for (std::size_t band = 0, next = 0; band < kBands && next < kCount && total > 0; ++band) {
      seen += sum[band];
      while (next < kCount && static_cast<double>(seen) >= shares[next] * static_cast<double>(total))
        found[next++] = std::chrono::nanoseconds(end_of(band));
    }
    return found;
  }

 private:
  static constexpr std::size_t kBands = 61 * 8;
  static std::size_t band_of(std::uint64_t ns) {
    if (ns < 8) return static_cast<std::size_t>(ns);
    const int power = std::bit_width(ns) - 4;
    return std::min<std::size_t>(static_cast<std::size_t>(power) * 8 + static_cast<std::size_t>(ns >> power),
                                 kBands - 1);
  }
  static std::int64_t end_of(std::size_t band) {
    if (band < 16) return static_cast<std::int64_t>(band);
    return static_cast<std::int64_t>((band % 8 + 8 + 1) << (band / 8 - 1));
  }
  std::array<std::atomic<std::uint64_t>, kBands> bands_{};
};

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
