// SPDX-License-Identifier: Apache-2.0
// Frames of two fields made progressive.
#pragma once

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/objects/format.hpp>

namespace tenon::va {

/// What this driver offers, the best last.
inline constexpr VAProcDeinterlacingType kDeinterlacing[] = {VAProcDeinterlacingBob, VAProcDeinterlacingWeave,
                                                             VAProcDeinterlacingMotionAdaptive};

/// Keeps one field of `from`. The rows between are made of their neighbours; where `past`, the frame before, is given, only
/// as far as the picture moves there, else the other field's rows stand.
/// @param to      Format and size of `from`; so has `past`, which may be null.
/// @param bottom  Keeps the second, fourth... row.
void deinterlace(const Pixels& to, const Pixels& from, const Pixels* past, bool bottom);

}  // namespace tenon::va
