// SPDX-License-Identifier: Apache-2.0
// Pictures in memory of their own: turned, mirrored, filled, mixed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <tenon/drivers/vaapi/objects/format.hpp>

namespace tenon::va {

/// Planes that keep their memory for the next picture.
class Canvas {
 public:
  /// @errors std::bad_alloc
  const Pixels& prepare(AVPixelFormat format, int width_px, int height_px);

 private:
  std::vector<std::uint8_t> bytes_;
  Pixels pixels_;
};

/// The format in which a picture of `format` is turned: its samples lie alike in both directions.
AVPixelFormat turnable(AVPixelFormat format);

/// Turns clockwise, then mirrors. Both pictures are of one turnable format.
/// @param quarters  0..3; for 1 and 3 `to` is as wide as `from` is high.
void turn(const Pixels& to, const Pixels& from, int quarters, bool mirror_across, bool mirror_down);

/// to = from * alpha + to * (1 - alpha), sample by sample; both of one format. @param alpha  0..256.
void mix(const Pixels& to, const Pixels& from, int alpha);

}  // namespace tenon::va
