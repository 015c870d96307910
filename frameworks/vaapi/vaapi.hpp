// SPDX-License-Identifier: Apache-2.0
// VA-API: surfaces as frames, shared with everything that takes dma-bufs.
//
//   Context va = vaapi::open("/dev/dri/renderD128");       or vaapi::wrap(your_display)
//   Frame frame = vaapi::wrap(va, surface);                a decoder's surface, in place
//   router.map(frame, npu);                                by its dma-buf, without a copy
//   VASurfaceID id = vaapi::surface(router.map(other, va));  anybody's dma-bufs as a surface
//   vaapi::Processor small(va, {kRgbx, 640, 640});         scales and converts: small.run(frame), or on a Router's way:
//   router.map(frame, small.place());                      booked as converted
#pragma once

#include <tenon/frameworks/vaapi/context.hpp>       // IWYU pragma: export
#include <tenon/frameworks/vaapi/display.hpp>       // IWYU pragma: export
#include <tenon/frameworks/vaapi/frame.hpp>         // IWYU pragma: export
#include <tenon/frameworks/vaapi/memory.hpp>        // IWYU pragma: export
#include <tenon/frameworks/vaapi/native.hpp>        // IWYU pragma: export
#include <tenon/frameworks/vaapi/pixel_format.hpp>  // IWYU pragma: export
#include <tenon/frameworks/vaapi/place.hpp>         // IWYU pragma: export
#include <tenon/frameworks/vaapi/process.hpp>       // IWYU pragma: export
#include <tenon/frameworks/vaapi/surface.hpp>       // IWYU pragma: export
