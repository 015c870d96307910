// SPDX-License-Identifier: Apache-2.0
// Buffers in GStreamer's VA memory by the descriptors of their surfaces. That needs libva, which GStreamer does not: it is in a module
// of its own, and where that does not load, such buffers stay memory that GStreamer must copy from.
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
  /// The surface in `buffer` by its descriptor, as all readers take it. Takes a reference of its own.
  /// @errors as gstreamer_vaapi::Surfaces::wrap() and Router::map()
  virtual Frame export_surface(GstBuffer* buffer, const tenon::gstreamer::VideoCaps& caps, Ledger* ledger) = 0;
};

/// Null: this build has no such module, or libva is missing. @thread any.
std::unique_ptr<Surfaces> load_surfaces();

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
