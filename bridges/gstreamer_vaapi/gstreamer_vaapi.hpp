// SPDX-License-Identifier: Apache-2.0
// Buffers in GStreamer's VA memory (vah264dec, vapostproc...) as frames over the same surfaces.
#pragma once

#include <va/va.h>

#include <memory>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/lease.hpp>
#include <tenon/frameworks/vaapi/frame.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer_vaapi {
namespace detail {

/// What is asked of libgstva, which GStreamer's VA plugin brings with it: code that has no such buffers needs no such
/// library. @source gst/va/gstva.h (1.22)
struct Library {
  VASurfaceID (*surface)(GstMemory*) = nullptr;
  GstObject* (*display)(GstMemory*) = nullptr;
  VADisplay (*native_display)(GstObject*) = nullptr;
  explicit operator bool() const { return surface && display && native_display; }
};

}  // namespace detail

/// The surfaces of one stream. @thread distinct objects from distinct threads; frames as any.
class Surfaces {
 public:
  /// The picture in `buffer`, as a frame of the context of its display: a Router takes it on to dma-bufs, devices and the
  /// CPU, and vaapi::surface() gives its VASurfaceID. Takes its own reference; the buffer returns to its pool, and the
  /// decoder may use the surface again, when the last plane goes and nothing runs on it.
  /// @errors kInvalidArgument: null; kFailedPrecondition: no surface in it, or GStreamer's VA library is not loaded;
  /// kUnimplemented: a crop that begins within the surface; as vaapi::wrap().
  /// @cost vaExportSurfaceHandle, since decoders destroy surfaces when streams change; moves no bytes.
  Frame wrap(GstBuffer* buffer, const gstreamer::VideoCaps& caps);

  /// The context of the display that the last frame was on; null before the first.
  const Context& context() const { return context_; }

 private:
  /// Another display is another context; frames on the one before keep theirs.
  void use(GstObject* display);

  detail::Library library_;
  std::shared_ptr<GstObject> display_;
  Context context_;
};

}  // namespace gstreamer_vaapi
}  // namespace v1
}  // namespace tenon
