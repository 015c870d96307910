// SPDX-License-Identifier: Apache-2.0
// What tags say about how pictures are to be turned: GStreamer's image-orientation.
#pragma once

#include <optional>

#include <gst/gst.h>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// Nothing where the event's tags say nothing, or no value that GStreamer documents.
std::optional<Rotation> orientation_of(GstEvent* tags);
/// A new event with the same tags, which say `rotation` instead. @param tags  Stays the caller's.
GstEvent* with_orientation(GstEvent* tags, Rotation rotation);

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
