// SPDX-License-Identifier: Apache-2.0
// Rotation, mirroring and blending of pictures.
#pragma once

#include <tenon/drivers/vaapi/objects/format.hpp>

namespace tenon::va {

/// The format in which a picture of `format` is rotated; its subsampling is the same in both directions.
AVPixelFormat turnable(AVPixelFormat format);

/// Turns clockwise, then mirrors. Both pictures are of one turnable format.
/// @param quarters  0..3; for 1 and 3 `to` is as wide as `from` is high.
void turn(const Pixels& to, const Pixels& from, int quarters, bool mirror_across, bool mirror_down);

/// to = from * alpha + to * (1 - alpha), sample by sample; both of one format. @param alpha  0..256.
void mix(const Pixels& to, const Pixels& from, int alpha);

}  // namespace tenon::va
