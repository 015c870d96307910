// SPDX-License-Identifier: Apache-2.0
// Filters of video processing: reads and checks their parameters.
#pragma once

#include <cstdint>
#include <optional>

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/objects/display.hpp>

namespace tenon::va {

/// Method that makes a frame of a picture's fields.
struct Deinterlacing {
  std::uint32_t algorithm = VAProcDeinterlacingNone, flags = 0;
  /// Motion is detected by comparison with the previous frame.
  bool needs_past() const { return algorithm == VAProcDeinterlacingMotionAdaptive; }
};

/// Reads a chain of filters. Deinterlacing is the only one, so a chain has one link at most.
/// @return VA_STATUS_ERROR_INVALID_BUFFER: no filter's parameters; VA_STATUS_ERROR_UNSUPPORTED_FILTER: another filter, or an
/// algorithm or flag that this one lacks; VA_STATUS_ERROR_INVALID_FILTER_CHAIN: more than one.
VAStatus read_filters(const Display& display, const VABufferID* filters, std::uint32_t count,
                      std::optional<Deinterlacing>& found);

}  // namespace tenon::va
