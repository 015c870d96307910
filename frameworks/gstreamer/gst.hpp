// SPDX-License-Identifier: Apache-2.0
// GStreamer's headers in one place, owners for its objects, and its start.
#pragma once

#include <memory>
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/allocators/gstfdmemory.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

struct UnrefMiniObject {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GstMemory* memory) const { gst_memory_unref(memory); }
  void operator()(GstBufferList* list) const { gst_buffer_list_unref(list); }
};
/// Each owns one reference.
using BufferPtr = std::unique_ptr<GstBuffer, UnrefMiniObject>;
using CapsPtr = std::unique_ptr<GstCaps, UnrefMiniObject>;
using MemoryPtr = std::unique_ptr<GstMemory, UnrefMiniObject>;
using BufferListPtr = std::unique_ptr<GstBufferList, UnrefMiniObject>;

struct UnrefObject {
  template <typename T>
  void operator()(T* object) const {
    gst_object_unref(object);
  }
};
/// Owns one reference to a GstObject.
template <typename T>
using ObjectPtr = std::unique_ptr<T, UnrefObject>;

/// Starts GStreamer unless the program did. @errors kUnavailable with GStreamer's reason. @thread any.
/// @cost one load after the first; the first may scan plugins.
void start();

namespace detail {

/// Text that GLib allocated, as a string; empty for null.
std::string take_text(char* text);

std::string describe(const GstCaps* caps);

}  // namespace detail
}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
