// SPDX-License-Identifier: Apache-2.0
// Pools over windows of any places and extents: adaptive ones, and greatest elements with their places.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::inline v1::engine::kernels {

/// The windows of one axis: `count` places from `first`, `step` apart, all of them inside.
struct PoolWindows {
  struct One {
    std::uint32_t first = 0, count = 1;
  };
  std::vector<One> windows{One()};
  std::size_t extent = 1;  ///< The source's extent.
  std::size_t step = 1;
};

struct WindowPool {
  std::array<PoolWindows, 3> axes;  ///< The last ones are used.
  std::size_t planes = 1;           ///< Pictures times channels, or times blocks of these.
  std::size_t pixel = 1;            ///< Channels side by side.

  std::size_t in_plane() const { return axes[0].extent * axes[1].extent * axes[2].extent; }
  std::size_t out_rows() const { return axes[0].windows.size() * axes[1].windows.size(); }
};

// Both are split over the workers of the calling arena.

/// from: f32 [planes, extents..., pixel]; to: f32 [planes, windows..., pixel]. No window is empty, all steps are 1.
void window_means(const WindowPool& what, const float* from, float* to);

/// How the greatest element of a window is chosen, and its place told.
struct GreatestRule {
  bool skips_nan =
      false;  ///< The value is that of the least number and all elements but NaNs; else a NaN that is first stays.
  std::size_t places = 1;  ///< Places start anew after so many elements.
};
/// from: f32 [planes, extents...]; to: f32 [planes, windows...], and the place of each; pixel is 1. A window of nothing gives
/// the least number, at place 0 of its plane.
template <typename Index>
void window_greatest(const WindowPool& what, const GreatestRule& rule, const float* from, float* to, Index* places);
extern template void window_greatest(const WindowPool&, const GreatestRule&, const float*, float*, std::int32_t*);
extern template void window_greatest(const WindowPool&, const GreatestRule&, const float*, float*, std::int64_t*);

}  // namespace tenon::inline v1::engine::kernels
