// SPDX-License-Identifier: Apache-2.0
// The one place that knows both coordinate systems of a turned picture: that of its planes, and that of the upright picture.
#pragma once

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {

/// An area in pixels; continuous coordinates for reals: pixel i covers [i, i + 1).
template <typename T>
struct Area {
  T x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Area&, const Area&) = default;
};

/// Whether columns of the stored picture run backwards along the axis of the upright one that they lie on.
constexpr bool flips_columns(Rotation rotation) {
  const unsigned turn = degrees(rotation);
  return (turn == 180 || turn == 270) != is_mirrored(rotation);
}
/// The same for rows.
constexpr bool flips_rows(Rotation rotation) {
  const unsigned turn = degrees(rotation);
  return turn == 90 || turn == 180;
}

/// Converts an area of the upright picture to one of the stored picture, whose extents are `width` x `height`.
template <typename T>
constexpr Area<T> stored_area(const Area<T>& upright, Rotation rotation, T width, T height) {
  Area<T> area = upright;
  if (is_quarter_turn(rotation)) area = {upright.y, upright.x, upright.height, upright.width};
  if (flips_columns(rotation)) area.x = width - area.x - area.width;
  if (flips_rows(rotation)) area.y = height - area.y - area.height;
  return area;
}

/// Converts an area of the stored picture, whose extents are `width` x `height`, to one of the upright picture.
template <typename T>
constexpr Area<T> upright_area(const Area<T>& stored, Rotation rotation, T width, T height) {
  Area<T> area = stored;
  if (flips_columns(rotation)) area.x = width - area.x - area.width;
  if (flips_rows(rotation)) area.y = height - area.y - area.height;
  if (is_quarter_turn(rotation)) area = {area.y, area.x, area.height, area.width};
  return area;
}

}  // namespace v1
}  // namespace tenon
