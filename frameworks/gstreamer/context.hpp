// SPDX-License-Identifier: Apache-2.0
// GStreamer as a context of Tenon: host memory of its buffers, and the edges between it and host memory.
#pragma once

#include <cstddef>

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/lease.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// Bytes of a GstMemory that the CPU reaches (system memory, memfds, shared memory).
inline constexpr MemoryKind kGstMemory{"gstreamer"};

/// A mapped GstMemory. It has no identity, because GStreamer recycles memory without notice, so each is wrapped anew.
/// Memory of Tenon's own pool is not wrapped in this class: it comes out as the pool's memory.
class BufferMemory final : public Memory {
 public:
  /// What `map` maps, kept by `keeper`. @param as  "gstreamer", or "cpu" for memory of the host's context.
  /// @errors kResourceExhausted
  static Ref<BufferMemory> over(const GstMapInfo& map, Ref<BufferLease> keeper, MemoryKind as = kGstMemory);
  ~BufferMemory() override { drop_views(); }  // Before the keeper releases the bytes that they refer to.

  /// The buffer that the bytes belong to; kept by this memory.
  GstBuffer* buffer() const { return keeper_->buffer(); }

  /// From a free list: one of these is made for each buffer that is wrapped.
  static void* operator new(std::size_t size);
  static void operator delete(void* room) noexcept;

 private:
  struct Room;
  BufferMemory(const Properties& properties, Ref<BufferLease> keeper, MemoryKind as);

  Ref<BufferLease> keeper_;
};

/// The process's context of GStreamer's host memory, with the edges gstreamer->cpu and cpu->gstreamer. It allocates host
/// memory in GstMemory, and none with a descriptor. Does not start GStreamer. @thread any.
Context context();

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
