// SPDX-License-Identifier: Apache-2.0
// Streams of several sources in one, for a model that serves all of them, and apart again.
#pragma once

#include <vector>

#include <gst/gst.h>

#include <tenon/bindings/gstreamer/properties.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// "streammux" and "streamdemux". Both know a buffer's source by a metadata::Source, whose `stream` is the number of the pad:
/// what comes by sink_3 has stream 3, and leaves by src_3.
std::vector<Kind> stream_kinds();

/// @name The GTypes of the two. @{
GType stream_mux_type(Kind& kind);
GType stream_demux_type(Kind& kind);
/// @}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
