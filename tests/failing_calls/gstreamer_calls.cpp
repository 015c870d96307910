// SPDX-License-Identifier: Apache-2.0
// GStreamer's functions that fail when a test says so, where a library of Tenon's calls them. The linker finds the program's own definitions
// first. Not those that release, and not those whose answer is a judgement of what they were given.
#include <tenon/tests/failing_calls/interposer.hpp>

#include <dlfcn.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/allocators/gstfdmemory.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>

namespace {

bool fails(const char* function, const void* caller) {
  return tenon_test::call_fails(tenon_test::CallKind::kGStreamer, function, caller);
}

template <typename Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void set_error(GError** error, const char* function) {
  g_set_error(error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED, "%s was told to fail", function);
}

}  // namespace

// What is given back where a call fails: `failure`, after `before`.
#define TENON_FAILING(result, failure, before, name, parameters, arguments) \
  extern "C" result name parameters {                                       \
    static auto* const next = next_of<result parameters>(#name);            \
    if (!fails(#name, __builtin_return_address(0))) return next arguments;  \
    before;                                                                 \
    return failure;                                                         \
  }

TENON_FAILING(gboolean, FALSE, set_error(error, "gst_init_check"), gst_init_check,
              (int* count, char*** arguments, GError** error), (count, arguments, error))
TENON_FAILING(gboolean, FALSE, , gst_buffer_map, (GstBuffer * buffer, GstMapInfo* info, GstMapFlags flags),
              (buffer, info, flags))
TENON_FAILING(gboolean, FALSE, , gst_memory_map, (GstMemory * memory, GstMapInfo* info, GstMapFlags flags),
              (memory, info, flags))
TENON_FAILING(gboolean, FALSE, , gst_video_frame_map,
              (GstVideoFrame * frame, const GstVideoInfo* info, GstBuffer* buffer, GstMapFlags flags),
              (frame, info, buffer, flags))
TENON_FAILING(gsize, 0, , gst_buffer_extract, (GstBuffer * buffer, gsize offset, gpointer to, gsize size),
              (buffer, offset, to, size))
TENON_FAILING(gsize, 0, , gst_buffer_fill, (GstBuffer * buffer, gsize offset, gconstpointer from, gsize size),
              (buffer, offset, from, size))
TENON_FAILING(gboolean, FALSE, gst_structure_free(config), gst_buffer_pool_set_config,
              (GstBufferPool * pool, GstStructure* config), (pool, config))
TENON_FAILING(GstMemory*, nullptr, , gst_fd_allocator_alloc,
              (GstAllocator * allocator, gint fd, gsize size, GstFdMemoryFlags flags), (allocator, fd, size, flags))
TENON_FAILING(GstMemory*, nullptr, , gst_dmabuf_allocator_alloc_with_flags,
              (GstAllocator * allocator, gint fd, gsize size, GstFdMemoryFlags flags), (allocator, fd, size, flags))
TENON_FAILING(GstCustomMeta*, nullptr, , gst_buffer_add_custom_meta, (GstBuffer * buffer, const gchar* name),
              (buffer, name))
TENON_FAILING(GstElement*, nullptr, set_error(error, "gst_parse_launch"), gst_parse_launch_full,
              (const gchar* line, GstParseContext* context, GstParseFlags flags, GError** error),
              (line, context, flags, error))
TENON_FAILING(GstFlowReturn, GST_FLOW_ERROR, gst_buffer_unref(buffer), gst_app_src_push_buffer,
              (GstAppSrc * source, GstBuffer* buffer), (source, buffer))
TENON_FAILING(GstFlowReturn, GST_FLOW_ERROR, , gst_app_src_end_of_stream, (GstAppSrc * source), (source))
TENON_FAILING(gulong, 0, if (destroy) destroy(data), gst_pad_add_probe,
              (GstPad * pad, GstPadProbeType mask, GstPadProbeCallback callback, gpointer data, GDestroyNotify destroy),
              (pad, mask, callback, data, destroy))

extern "C" gboolean gst_buffer_pool_set_active(GstBufferPool* pool, gboolean active) {
  static auto* const next = next_of<gboolean(GstBufferPool*, gboolean)>("gst_buffer_pool_set_active");
  return active && fails("gst_buffer_pool_set_active", __builtin_return_address(0)) ? FALSE : next(pool, active);
}
extern "C" GstStateChangeReturn gst_element_set_state(GstElement* element, GstState state) {
  static auto* const next = next_of<GstStateChangeReturn(GstElement*, GstState)>("gst_element_set_state");
  const bool has_failed = state != GST_STATE_NULL && fails("gst_element_set_state", __builtin_return_address(0));
  return has_failed ? GST_STATE_CHANGE_FAILURE : next(element, state);
}
