// SPDX-License-Identifier: Apache-2.0
// Where a picture lies in the one that it was cut or turned from.
#pragma once

#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace metadata {

/// A map of points: (x, y) becomes (x0 + xx * x + xy * y, y0 + yx * x + yy * y).
struct Affine {
  double x0 = 0, xx = 1, xy = 0, y0 = 0, yx = 0, yy = 1;

  double x(double from_x, double from_y) const { return x0 + xx * from_x + xy * from_y; }
  double y(double from_x, double from_y) const { return y0 + yx * from_x + yy * from_y; }
  /// The map that does this first, and then `next`.
  Affine then(const Affine& next) const {
    return {next.x(x0, y0), next.xx * xx + next.xy * yx, next.xx * xy + next.xy * yy,
            next.y(x0, y0), next.yx * xx + next.yy * yx, next.yx * xy + next.yy * yy};
  }
  /// @pre It maps no two points to one.
  Affine inverse() const {
    const double area = xx * yy - xy * yx;
    const Affine turned{0, yy / area, -xy / area, 0, -yx / area, xx / area};
    return {-turned.x(x0, y0), turned.xx, turned.xy, -turned.y(x0, y0), turned.yx, turned.yy};
  }
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// Where the picture lies in the one that it was cut or turned from. Converters add it, so that what is found in the picture can be told of
/// that one, too. It follows crops; not in JSON lines.
struct Placement {
  static constexpr Kind kKind{"placement"};
  Affine map = {};                     ///< From pixels of the upright picture to those of that one.
  double width_px = 0, height_px = 0;  ///< The extents of that one, upright.

  bool cropped(const Box& region) {
    map = Affine{static_cast<double>(region.x1), 1, 0, static_cast<double>(region.y1), 0, 1}.then(map);
    return true;
  }
  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace metadata
}  // namespace v1
}  // namespace tenon
