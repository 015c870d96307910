// SPDX-License-Identifier: Apache-2.0
// Frames as Python's objects, and arrays as frames.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon::python {

/// A Frame, or an array [height, width], [height, width, 3] or [height, width, 4] of u8 that is seen as one in place: grey, RGB, RGBA.
/// @errors TypeError, BufferError
Frame frame_from(nanobind::handle object);
/// A format by its name here ("rgb", "nv12") or in FFmpeg and GStreamer ("rgb24", "yuv420p", "gray"). @errors ValueError proposes names
PixelFormat format_from(const std::string& name);

}  // namespace tenon::python
