// SPDX-License-Identifier: Apache-2.0
// One use of a GstBuffer: its reference, and the mappings of its memories.
#pragma once

#include <array>
#include <cstddef>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// Holds one reference to a GstBuffer and what is mapped of it. When it goes, the memories are unmapped and the buffer is
/// unreferenced, so that it returns to its pool: at once, or as soon as no device works on watched memories any more.
/// From a free list, so that the steady state allocates nothing. @thread as LeaseState.
class BufferLease final : public LeaseState, private Deferred {
 public:
  /// Takes over one reference to `buffer`; where this fails it is the caller's. @errors std::bad_alloc
  static Ref<BufferLease> hold(GstBuffer* buffer);
  /// Takes a reference of its own. @errors std::bad_alloc
  static Ref<BufferLease> share(GstBuffer* buffer);

  /// Belongs to the lease.
  GstBuffer* buffer() const { return buffer_; }
  /// GStreamer's rule: there is no other reference to the buffer or to its memories, and none of them is read-only.
  bool writable() const override;

  /// Maps `memory`, one of the buffer's, until the lease ends. Each of at most four is mapped once.
  /// @errors kFailedPrecondition: GStreamer refuses, because it is mapped otherwise already or its allocator cannot.
  const GstMapInfo& map(GstMemory* memory, GstMapFlags flags);
  /// Maps the whole buffer; GStreamer copies it together if it has several memories. Precondition: nothing is mapped.
  /// @errors as map()
  const GstMapInfo& map_merged();
  /// Whether GStreamer made one memory of several.
  bool is_merged() const { return merged_; }

  /// The buffer is kept until no device works on `memory`, whose own life does not depend on the buffer's.
  void watch(const Ref<Memory>& memory);
  /// Ends the mappings and gives the reference back to the caller. For failures of adopt().
  GstBuffer* give_back() noexcept;

 protected:
  void dispose() noexcept override;

 private:
  friend class FreeList<BufferLease>;
  BufferLease() = default;
  ~BufferLease() override = default;

  bool is_ready() noexcept override;
  void finish() noexcept override;
  void end_maps() noexcept;
  static Error refused(const GstMemory* memory, GstMapFlags flags, const char* call);

  GstBuffer* buffer_ = nullptr;
  std::array<GstMapInfo, 4> maps_;  ///< The first map_count_ are valid; with merged_, the first alone.
  std::size_t map_count_ = 0;
  std::array<Ref<Memory>, 4> watched_;
  std::size_t watched_count_ = 0;
  bool merged_ = false;
  BufferLease* next_ = nullptr;
};

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
