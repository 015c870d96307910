// SPDX-License-Identifier: Apache-2.0
// An allocator and a buffer pool over Tenon's memory, which upstream elements use when the allocation query offers them.
#pragma once

#include <cstddef>

#include <tenon/core/context.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// What upstream elements are offered.
struct PoolOptions {
  Context allocator = host_context();  ///< Makes the memory: the CPU's, dma-bufs (dmabuf::context()), a device's.
  Requirements wanted;  ///< What the consumers need (CompiledModel::requirements()): alignments, pitch, descriptor.
  unsigned min_buffers = 0, max_buffers = 0;  ///< 0: no lower limit, none at all.
};

namespace detail {

/// Tenon's memory of `size` bytes as a GstMemory. @errors those of the allocator
MemoryPtr make_memory(const PoolOptions& options, std::size_t size, std::size_t alignment);

}  // namespace detail

/// A GstAllocator of Tenon's memory. gst_memory of it comes out of wrap() as that memory, with its context, descriptor and
/// views. Dma-bufs are GstDmaBufMemory; memory with a host address is system memory to GStreamer, whatever descriptor it has.
/// @errors kUnavailable: GStreamer does not start. @thread any.
ObjectPtr<GstAllocator> allocator(const PoolOptions& options = {});

/// A GstBufferPool of Tenon's memory; configured by its user (elements do that), or by configure(). A buffer returns when
/// the last GstBuffer reference and the last Tenon lease have ended, and nothing runs on it; its memory persists, with its
/// views in other contexts. Planes lie as `options.wanted` says where the user of the pool takes GstVideoMeta, else as
/// GStreamer lays them out by default.
/// @errors kUnavailable: GStreamer does not start. @thread any.
ObjectPtr<GstBufferPool> pool(const PoolOptions& options = {});

/// What a pool of pool() was made with; null for pools of others. Valid as long as the pool. @thread any.
const PoolOptions* options_of(GstBufferPool* pool);

/// Configures a pool for raw video and starts it. @errors kInvalidArgument: the pool refuses `caps`; as video_caps();
/// kResourceExhausted: no first buffers.
void configure(GstBufferPool& pool, GstCaps* caps, unsigned min_buffers = 0, unsigned max_buffers = 0);

/// Answers an allocation query: the upstream element shall write into Tenon's memory. For sinks and filters that handle
/// the query themselves. Says that GstVideoMeta and GstVideoCropMeta are understood.
/// @return False where the query is none, or its caps are no raw video that Tenon knows: it is left as it is.
bool answer(GstQuery* query, const PoolOptions& options);

/// Answers the allocation queries that reach `pad`, a sink pad such as an appsink's, until the element goes.
/// @errors kInvalidArgument: null, or no sink pad. @thread any; before the element gets caps.
void offer_pool(GstPad* pad, const PoolOptions& options);
/// As above, for the pad "sink" of `element`. @errors kInvalidArgument: it has none.
void offer_pool(GstElement* element, const PoolOptions& options);

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
