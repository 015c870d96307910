// SPDX-License-Identifier: Apache-2.0
// Deinterlacing: makes frames of two fields progressive.
#pragma once

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/objects/format.hpp>

namespace tenon::va {

/// The algorithms that this driver offers, the best last.
inline constexpr VAProcDeinterlacingType kDeinterlacing[] = {VAProcDeinterlacingBob, VAProcDeinterlacingWeave,
                                                             VAProcDeinterlacingMotionAdaptive};

/// Keeps one field of `from` and interpolates the rows between from their neighbours. If `past`, the previous frame, is
/// given, only moving pixels are interpolated; still pixels keep the rows of the other field.
/// @param to  Has the format and size of `from`, like `past`, which may be null.
/// @param bottom  Keeps the second, fourth... row.
void deinterlace(const Pixels& to, const Pixels& from, const Pixels* past, bool bottom);

}  // namespace tenon::va
