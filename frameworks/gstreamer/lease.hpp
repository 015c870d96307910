// SPDX-License-Identifier: Apache-2.0
// One use of a GstBuffer: its reference, and the mappings of its memories.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

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
  /// Takes over one reference to `buffer`. @errors kResourceExhausted
  static Ref<BufferLease> hold(GstBuffer* buffer) {
    BufferLease* lease = FreeList<BufferLease>::instance().take();
    lease->buffer_ = buffer;
    return Ref<BufferLease>(lease);
  }

  /// Belongs to the lease.
  GstBuffer* buffer() const { return buffer_; }
  /// GStreamer's rule: nobody else refers to the buffer or to its memories, and none of them is read-only.
  bool writable() const override {
    return buffer_ && gst_buffer_is_writable(buffer_) && gst_buffer_is_all_memory_writable(buffer_);
  }

  /// Maps `memory`, one of the buffer's, until the lease ends. Each of at most four is mapped once.
  /// @errors kFailedPrecondition: GStreamer refuses, because somebody else has it mapped otherwise or its allocator cannot.
  const GstMapInfo& map(GstMemory* memory, GstMapFlags flags) {
    for (std::size_t i = 0; i < map_count_; ++i) {
      if (maps_[i].memory == memory) return maps_[i];
    }
    if (map_count_ == maps_.size())
      throw Error(Code::kUnimplemented, "gstreamer: a picture in more than four memories");
    if (!gst_memory_map(memory, &maps_[map_count_], flags)) throw refused(memory, flags, "gst_memory_map");
    return maps_[map_count_++];
  }
  /// Maps the whole buffer; GStreamer copies it together if it has several memories. Precondition: nothing is mapped.
  /// @errors as map()
  const GstMapInfo& map_merged() {
    if (!gst_buffer_map(buffer_, &maps_[0], GST_MAP_READ))
      throw refused(gst_buffer_peek_memory(buffer_, 0), GST_MAP_READ, "gst_buffer_map");
    merged_ = true;
    return maps_[0];
  }
  /// Whether GStreamer made one memory of several.
  bool is_merged() const { return merged_; }

  /// The buffer is kept until no device works on `memory`, whose own life does not depend on the buffer's.
  void watch(const Ref<Memory>& memory) {
    for (std::size_t i = 0; i < watched_count_; ++i) {
      if (watched_[i] == memory) return;
    }
    if (watched_count_ < watched_.size()) watched_[watched_count_++] = memory;
  }
  /// Ends the mappings and gives the reference back to the caller. For failures of adopt().
  GstBuffer* give_back() noexcept {
    end_maps();
    return std::exchange(buffer_, nullptr);
  }

 protected:
  void dispose() noexcept override {
    if (is_ready())
      finish();
    else
      defer(*this);
  }

 private:
  friend class FreeList<BufferLease>;
  BufferLease() = default;
  ~BufferLease() override = default;

  bool is_ready() noexcept override {
    for (std::size_t i = 0; i < watched_count_; ++i) {
      if (watched_[i]->has_hazards() && watched_[i]->hazards().busy()) return false;
    }
    return true;
  }
  void finish() noexcept override {
    end_maps();
    while (watched_count_ != 0) watched_[--watched_count_] = nullptr;
    if (buffer_) gst_buffer_unref(std::exchange(buffer_, nullptr));
    FreeList<BufferLease>::instance().give_back(this);
  }
  void end_maps() noexcept {
    if (std::exchange(merged_, false)) gst_buffer_unmap(buffer_, &maps_[0]);
    while (map_count_ != 0) {
      --map_count_;
      gst_memory_unmap(maps_[map_count_].memory, &maps_[map_count_]);
    }
  }
  static Error refused(const GstMemory* memory, GstMapFlags flags, const char* call) {
    const char* type = memory && memory->allocator ? memory->allocator->mem_type : "unknown";
    return Error(Code::kFailedPrecondition,
                 std::string("gstreamer: memory of type ") + (type ? type : "unknown") + " cannot be mapped for " +
                     (flags & GST_MAP_WRITE ? "writing" : "reading") +
                     ": somebody has it mapped otherwise, or its allocator does not map it",
                 call, 0);
  }

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
