// SPDX-License-Identifier: Apache-2.0
// Exports buffers in GStreamer's VA memory by the descriptors of their surfaces. This needs libva, which GStreamer does not
// need, so it is in a module of its own. If that module does not load, such buffers stay memory that GStreamer must copy from.
#pragma once

#include <gst/gst.h>

#include <memory>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {

/// @thread one at a time.
class Surfaces {
 public:
  virtual ~Surfaces() = default;
  /// Exports the surface in `buffer` by its descriptor, as a frame that all readers can take. The frame holds a reference of its
  /// own to the buffer.
  /// @errors as gstreamer_vaapi::Surfaces::wrap() and Router::map()
  virtual Frame export_surface(GstBuffer* buffer, const tenon::gstreamer::VideoCaps& caps, Ledger* ledger) = 0;
};

/// Loads the module. @return Null: this build has no such module, or libva is missing. @thread any.
std::unique_ptr<Surfaces> load_surfaces();

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
