// SPDX-License-Identifier: Apache-2.0
// How stored pictures are to be turned: GStreamer's tag image-orientation.
#pragma once

#include <optional>

#include <gst/gst.h>

#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// Nothing where the event has no tags, or they say nothing of it that GStreamer documents.
std::optional<Rotation> orientation_of(GstEvent* event);
/// An event of this tag alone; the caller's.
GstEvent* orientation_event(Rotation rotation);
/// A new event with the same tags, which say `rotation` instead. @param tags  Stays the caller's.
GstEvent* with_orientation(GstEvent* tags, Rotation rotation);

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
