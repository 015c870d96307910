// SPDX-License-Identifier: Apache-2.0
// Surfaces in GStreamer's VA memory as frames of their display.
#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.hpp>

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer_vaapi {
namespace detail {

/// Empty as long as no VA element has been made. @thread any. @cost a look-up each time until it is there.
TENON_INLINE Library library() {
  Library found;
  void* const loaded = ::dlopen("libgstva-1.0.so.0", RTLD_NOW | RTLD_NOLOAD);
  if (!loaded) return found;
  found.surface = reinterpret_cast<decltype(found.surface)>(::dlsym(loaded, "gst_va_memory_get_surface"));
  found.display = reinterpret_cast<decltype(found.display)>(::dlsym(loaded, "gst_va_memory_peek_display"));
  found.native_display = reinterpret_cast<decltype(found.native_display)>(::dlsym(loaded, "gst_va_display_get_va_dpy"));
  ::dlclose(loaded);  // The plugin keeps it: GStreamer never unloads plugins.
  return found;
}

TENON_INLINE Error refused(const std::string& why) {
  return Error(Code::kFailedPrecondition, "gstreamer_vaapi: " + why +
                                              "; take buffers of a VA element (caps video/x-raw(memory:VAMemory) or "
                                              "memory:DMABuf), or gstreamer::wrap()");
}

}  // namespace detail

TENON_INLINE Frame Surfaces::wrap(GstBuffer* buffer, const gstreamer::VideoCaps& caps) {
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

TENON_INLINE void Surfaces::use(GstObject* display) {
  if (display == display_.get()) return;
  const VADisplay native = library_.native_display(display);
  if (!native) throw detail::refused("a surface whose display has ended");
  std::shared_ptr<GstObject> held(static_cast<GstObject*>(gst_object_ref(display)), &gst_object_unref);
  context_ = vaapi::wrap(native, held);
  display_ = std::move(held);
}

}  // namespace gstreamer_vaapi
}  // namespace v1
}  // namespace tenon
