// SPDX-License-Identifier: Apache-2.0
// Boxes turned about their centre, as GstAnalytics has them, and the outlines that Tenon has instead.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

/// A box that is turned about its centre: where it would lie upright, in pixels, and the angle in radians, clockwise in the picture.
struct TurnedBox {
  metadata::Box upright;
  float angle = 0;

  /// The corners, clockwise from the one that is at the upper left where the angle is 0.
  std::array<metadata::Point, 4> corners() const {
    const double x = (static_cast<double>(upright.x1) + upright.x2) / 2,
                 y = (static_cast<double>(upright.y1) + upright.y2) / 2;
    const double width = static_cast<double>(upright.x2) - upright.x1,
                 height = static_cast<double>(upright.y2) - upright.y1;
    const double cosine = std::cos(static_cast<double>(angle)), sine = std::sin(static_cast<double>(angle));
    constexpr std::array<std::array<double, 2>, 4> places{{{-0.5, -0.5}, {0.5, -0.5}, {0.5, 0.5}, {-0.5, 0.5}}};
    std::array<metadata::Point, 4> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double right = places[i][0] * width, down = places[i][1] * height;
      all[i] = {static_cast<float>(x + right * cosine - down * sine),
                static_cast<float>(y + right * sine + down * cosine)};
    }
    return all;
  }
  /// The upright box around it.
  metadata::Box around() const {
    constexpr float far = std::numeric_limits<float>::infinity();
    metadata::Box box{far, far, -far, -far};
    for (const metadata::Point& corner : corners()) {
      box = {std::min(box.x1, corner.x), std::min(box.y1, corner.y), std::max(box.x2, corner.x),
             std::max(box.y2, corner.y)};
    }
    return box;
  }
};

/// The turned box with this outline: a polygon of four corners in the order of TurnedBox::corners(). Nothing if it is upright, or is no
/// rectangle within a fiftieth of its sides: another outline, or one that a scaling has skewed.
inline std::optional<TurnedBox> turned_box(const metadata::TensorOutput& outline) {
  if (outline.format != "polygon" || !outline.has_points() || outline.tensor.shape()[0] != 4) return std::nullopt;
  const std::size_t step = outline.tensor.shape()[1];
  const float* const values = outline.tensor.data<float>();
  std::array<std::array<double, 2>, 4> at;
  for (std::size_t i = 0; i < 4; ++i)
    at[i] = {static_cast<double>(values[i * step]), static_cast<double>(values[i * step + 1])};
  const auto between = [&](std::size_t from, std::size_t to) {
    return std::array<double, 2>{at[to][0] - at[from][0], at[to][1] - at[from][1]};
  };
  const auto along = between(0, 1), opposite = between(3, 2), down = between(0, 3);
  const double width = std::hypot(along[0], along[1]), height = std::hypot(down[0], down[1]);
  constexpr double kSlack = 0.02, kUpright = 1e-4;
  const double skewed = std::abs(along[0] * down[0] + along[1] * down[1]);
  const double apart = std::hypot(along[0] - opposite[0], along[1] - opposite[1]);
  if (!(width > 0 && height > 0) || !(skewed <= kSlack * width * height) ||
      !(apart <= kSlack * std::max(width, height)))
    return std::nullopt;
  const double angle = std::atan2(along[1], along[0]);
  if (std::abs(angle) < kUpright) return std::nullopt;
  const double x = (at[0][0] + at[1][0] + at[2][0] + at[3][0]) / 4, y = (at[0][1] + at[1][1] + at[2][1] + at[3][1]) / 4;
  return TurnedBox{{static_cast<float>(x - width / 2), static_cast<float>(y - height / 2),
                    static_cast<float>(x + width / 2), static_cast<float>(y + height / 2)},
                   static_cast<float>(angle)};
}

}  // namespace detail
}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
