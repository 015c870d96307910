// SPDX-License-Identifier: Apache-2.0
// Buffers in GStreamer's VA memory (vah264dec, vapostproc...) as frames over the same surfaces.
#pragma once

#include <dlfcn.h>
#include <va/va.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
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

/// Empty as long as no VA element has been made. @thread any. @cost a look-up each time until it is there.
inline Library library() {
  Library found;
  void* const loaded = ::dlopen("libgstva-1.0.so.0", RTLD_NOW | RTLD_NOLOAD);
  if (!loaded) return found;
  found.surface = reinterpret_cast<decltype(found.surface)>(::dlsym(loaded, "gst_va_memory_get_surface"));
  found.display = reinterpret_cast<decltype(found.display)>(::dlsym(loaded, "gst_va_memory_peek_display"));
  found.native_display = reinterpret_cast<decltype(found.native_display)>(::dlsym(loaded, "gst_va_display_get_va_dpy"));
  ::dlclose(loaded);  // The plugin keeps it: GStreamer never unloads plugins.
  return found;
}

inline Error refused(const std::string& why) {
  return Error(Code::kFailedPrecondition, "gstreamer_vaapi: " + why +
                                              "; take buffers of a VA element (caps video/x-raw(memory:VAMemory) or "
                                              "memory:DMABuf), or gstreamer::wrap()");
}

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
  Frame wrap(GstBuffer* buffer, const gstreamer::VideoCaps& caps) {
    if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer_vaapi::Surfaces::wrap: a null GstBuffer");
    if (!library_) library_ = detail::library();
    if (!library_)
      throw detail::refused("GStreamer's VA library (libgstva-1.0) is not loaded, so no buffer is a surface");
    GstMemory* const memory = gst_buffer_n_memory(buffer) != 0 ? gst_buffer_peek_memory(buffer, 0) : nullptr;
    const VASurfaceID surface = memory ? library_.surface(memory) : VA_INVALID_SURFACE;
    GstObject* const display = memory && surface != VA_INVALID_SURFACE ? library_.display(memory) : nullptr;
    if (!display) throw detail::refused("a buffer whose memory is no VA surface");
    use(display);
    FrameInfo visible = caps.info;
    if (const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer)) {
      if (crop->x != 0 || crop->y != 0)
        throw Error(Code::kUnimplemented, "gstreamer_vaapi: a crop that begins at " + std::to_string(crop->x) + "," +
                                              std::to_string(crop->y) + " of its surface; put vapostproc before it");
      visible.width_px = crop->width, visible.height_px = crop->height;
    }
    const Ref<gstreamer::BufferLease> lease = gstreamer::BufferLease::hold(gst_buffer_ref(buffer));
    Frame frame = vaapi::wrap(context_, surface, visible, lease);
    for (const Tensor& plane : frame.planes()) lease->watch(plane.memory());
    if (GST_BUFFER_PTS_IS_VALID(buffer) && GST_BUFFER_PTS(buffer) <= static_cast<GstClockTime>(INT64_MAX))
      frame.set_timestamp_ns(static_cast<std::int64_t>(GST_BUFFER_PTS(buffer)));
    return frame;
  }

  /// Of the display that the last frame was on; null before the first.
  const Context& context() const { return context_; }

 private:
  /// Another display is another context; frames on the one before keep theirs.
  void use(GstObject* display) {
    if (display == display_.get()) return;
    const VADisplay native = library_.native_display(display);
    if (!native) throw detail::refused("a surface whose display has ended");
    std::shared_ptr<GstObject> held(static_cast<GstObject*>(gst_object_ref(display)), &gst_object_unref);
    context_ = vaapi::wrap(native, held);
    display_ = std::move(held);
  }

  detail::Library library_;
  std::shared_ptr<GstObject> display_;
  Context context_;
};

}  // namespace gstreamer_vaapi
}  // namespace v1
}  // namespace tenon
