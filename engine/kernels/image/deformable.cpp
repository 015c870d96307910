// SPDX-License-Identifier: Apache-2.0
// SIMD over channels by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/deformable.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/deformable.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/tail-inl.hpp>

#ifndef TENON_DEFORMABLE_ONCE
#define TENON_DEFORMABLE_ONCE

namespace tenon::inline v1::engine::kernels {

/// The four pixels around a point.
struct PointCorners {
  std::array<std::size_t, 4> at{};  ///< Pixels from the picture's first.
  std::array<float, 4> weight{};
};

}  // namespace tenon::inline v1::engine::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sum of four pixels, of `count` channels from `channel` on.
void BetweenPixels(const float* picture, std::size_t channels, const PointCorners& corners, std::size_t channel,
                   std::size_t count, float* out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const float* from[4];
  for (std::size_t i = 0; i < 4; ++i) from[i] = picture + corners.at[i] * channels + channel;
  for (std::size_t c = 0; c < count; c += lanes) {
    const std::size_t some = HWY_MIN(lanes, count - c);
    auto sum = hn::Mul(LoadSome(d, from[0] + c, some), hn::Set(d, corners.weight[0]));
    for (std::size_t i = 1; i < 4; ++i)
      sum = hn::MulAdd(LoadSome(d, from[i] + c, some), hn::Set(d, corners.weight[i]), sum);
    StoreSome(sum, d, out + c, some);
  }
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <numeric>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(BetweenPixels);

namespace {

/// @return false if nothing of the picture is read.
bool find_corners(const DeformableColumns& what, double y, double x, double factor, PointCorners& made) {
  const auto is_inside = [&](double at, std::int64_t extent) {
    return (what.pads ? at > -1 : at >= 0) && at < static_cast<double>(extent);
  };
  if (!is_inside(y, what.down.extent) || !is_inside(x, what.across.extent)) return false;
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  for (int i = 0; i < 4; ++i) {
    const bool is_below = i / 2 == 1, is_right = i % 2 == 1;
    const std::int64_t row = std::clamp<std::int64_t>(top + is_below, 0, what.down.extent - 1),
                       column = std::clamp<std::int64_t>(left + is_right, 0, what.across.extent - 1);
    // With pads, what lies outside is 0; without, the last pixel goes on.
    const bool counts = !what.pads || (row == top + is_below && column == left + is_right);
    made.at[static_cast<std::size_t>(i)] = static_cast<std::size_t>(row * what.across.extent + column);
    made.weight[static_cast<std::size_t>(i)] =
        counts ? static_cast<float>((is_below ? dy : 1 - dy) * (is_right ? dx : 1 - dx) * factor) : 0.0f;
  }
  return true;
}

}  // namespace

void deformable_columns(const DeformableColumns& what, const float* picture, const float* offsets, const float* mask,
                        std::size_t first, std::size_t count, float* columns) {
  const std::size_t each = what.channels / what.groups, shared = what.channels / what.deformable_groups;
  // Channels that are neighbours in both groupings.
  const std::size_t run = std::gcd(each, shared), taps = what.taps();
  parallel(count, count * what.depth() * 16, [&](std::size_t begin, std::size_t end) {
    PointCorners corners;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t pixel = first + i;
      const auto base = [&](std::size_t index, const DeformableColumns::Axis& axis) {
        return static_cast<std::int64_t>(index) * axis.stride - axis.pad;
      };
      const std::int64_t top = base(pixel / what.out_width, what.down),
                         left = base(pixel % what.out_width, what.across);
      for (std::size_t g = 0; g < what.deformable_groups; ++g) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
          const std::size_t at = g * taps + tap, columns_of = static_cast<std::size_t>(what.across.kernel);
          const auto place = [&](std::int64_t from, std::size_t index, const DeformableColumns::Axis& axis,
                                 std::size_t which) {
            return static_cast<double>(from + static_cast<std::int64_t>(index) * axis.dilation) +
                   static_cast<double>(offsets[(2 * at + which) * what.pixels + pixel]);
          };
          const double factor = mask ? static_cast<double>(mask[at * what.pixels + pixel]) : 1.0;
          const bool is_read = find_corners(what, place(top, tap / columns_of, what.down, 0),
                                            place(left, tap % columns_of, what.across, 1), factor, corners);
          for (std::size_t c = g * shared; c < (g + 1) * shared; c += run) {
            float* to = columns + i * what.depth() + (c / each * taps + tap) * each + c % each;
            if (is_read)
              HWY_DYNAMIC_DISPATCH(BetweenPixels)(picture, what.channels, corners, c, run, to);
            else
              std::fill_n(to, run, 0.0f);
          }
        }
      }
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
