// SPDX-License-Identifier: Apache-2.0
// GStreamer for tests: pipelines with deadlines, buffers, an allocator that plays a device's.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>

#include <tenon/frameworks/gstreamer/frame.hpp>

namespace tenon::gstreamer_testing {

namespace gs = tenon::gstreamer;

struct UnrefSample {
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};
using SamplePtr = std::unique_ptr<GstSample, UnrefSample>;

/// A launched pipeline with an appsink named "sink"; stopped at the end.
class Pipeline {
 public:
  explicit Pipeline(const std::string& line) {
    gs::start();
    GError* error = nullptr;
    pipeline_.reset(gst_parse_launch(line.c_str(), &error));
    if (error) ADD_FAILURE() << line << ": " << error->message;
    g_clear_error(&error);
    sink_.reset(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "sink"));
    if (sink_) g_object_set(sink_.get(), "sync", FALSE, nullptr);
  }
  ~Pipeline() { stop(); }
  void play() { gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING); }
  void stop() {
    if (pipeline_) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }
  /// The next sample; null at the end of the stream, after an error, or after a minute.
  SamplePtr pull() { return SamplePtr(gst_app_sink_try_pull_sample(GST_APP_SINK(sink_.get()), 60 * GST_SECOND)); }
  gs::ObjectPtr<GstElement> element(const char* name) {
    return gs::ObjectPtr<GstElement>(gst_bin_get_by_name(GST_BIN(pipeline_.get()), name));
  }
  GstElement* sink() { return sink_.get(); }

 private:
  gs::ObjectPtr<GstElement> pipeline_, sink_;
};

/// A buffer of `size` bytes of GStreamer's own memory, filled with `value`.
inline gs::BufferPtr filled_buffer(std::size_t size, int value) {
  gs::start();
  gs::BufferPtr buffer(gst_buffer_new_allocate(nullptr, size, nullptr));
  gst_buffer_memset(buffer.get(), 0, static_cast<guint8>(value), size);
  return buffer;
}

/// Counts the end of its life, for tests of what keeps a buffer.
inline void count_end(GstBuffer* buffer, std::atomic<int>& ended) {
  gst_mini_object_weak_ref(
      GST_MINI_OBJECT_CAST(buffer),
      [](gpointer counter, GstMiniObject*) { ++*static_cast<std::atomic<int>*>(counter); }, &ended);
}

/// Memory whose allocator says that it is a device's, and copies for every map, as a decoder's tiled surface does.
inline GstMemory* device_memory(std::vector<std::uint8_t> bytes, std::atomic<int>& maps) {
  struct Surface {
    GstMemory memory;
    std::vector<std::uint8_t>* bytes;
    std::atomic<int>* maps;
  };
  gs::start();
  static GstAllocator* const allocator = [] {
    static const GTypeInfo info{sizeof(GstAllocatorClass),
                                nullptr,
                                nullptr,
                                [](gpointer type, gpointer) {
                                  static_cast<GstAllocatorClass*>(type)->free = [](GstAllocator*, GstMemory* memory) {
                                    auto* surface = reinterpret_cast<Surface*>(memory);
                                    delete surface->bytes;
                                    delete surface;
                                  };
                                },
                                nullptr,
                                nullptr,
                                sizeof(GstAllocator),
                                0,
                                nullptr,
                                nullptr};
    const GType type = g_type_register_static(GST_TYPE_ALLOCATOR, "TenonTestDevice", &info, static_cast<GTypeFlags>(0));
    auto* made = static_cast<GstAllocator*>(g_object_new(type, nullptr));
    made->mem_type = "VAMemory";
    made->mem_map = [](GstMemory* memory, gsize, GstMapFlags) -> gpointer {
      auto* surface = reinterpret_cast<Surface*>(memory);
      ++*surface->maps;
      return surface->bytes->data();
    };
    made->mem_unmap = [](GstMemory*) {};
    return made;
  }();
  auto* surface = new Surface;
  surface->bytes = new std::vector<std::uint8_t>(std::move(bytes));
  surface->maps = &maps;
  gst_memory_init(&surface->memory, static_cast<GstMemoryFlags>(0), allocator, nullptr, surface->bytes->size(), 0, 0,
                  surface->bytes->size());
  return &surface->memory;
}

}  // namespace tenon::gstreamer_testing
