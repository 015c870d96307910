// SPDX-License-Identifier: Apache-2.0
// One use of an AVFrame, as a lease; its time, and its name in messages.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// One use of an AVFrame's buffers: holds its own reference. Kept in a free list, so that the steady state allocates
/// nothing.
class FrameLease final : public LeaseState {
 public:
  /// Returns an empty one. @errors kResourceExhausted
  static Ref<FrameLease> take() {
    FreeList& list = free_list();
    // One is kept where a single exchange gets it: a loop that uses one frame at a time takes no lock.
    if (FrameLease* hot = list.hot.exchange(nullptr, std::memory_order_acquire)) return Ref<FrameLease>(hot);
    {
      std::lock_guard lock(list.mutex);
      if (list.size != 0) return Ref<FrameLease>(list.items[--list.size]);
    }
    return Ref<FrameLease>(new FrameLease(detail::new_frame()));
  }

  /// False while there is any other reference, or the buffers are read-only.
  bool writable() const override { return av_frame_is_writable(frame_.get()) > 0; }
  /// Belongs to the lease: do not unref it or write its fields.
  AVFrame* frame() const { return frame_.get(); }

 protected:
  void dispose() noexcept override {
    av_frame_unref(frame_.get());
    FreeList& list = free_list();
    FrameLease* none = nullptr;
    if (list.hot.compare_exchange_strong(none, this, std::memory_order_release, std::memory_order_relaxed)) return;
    {
      std::lock_guard lock(list.mutex);
      if (list.size != list.items.size()) {
        list.items[list.size++] = this;
        return;
      }
    }
    delete this;
  }

 private:
  struct FreeList {
    std::atomic<FrameLease*> hot{nullptr};
    std::mutex mutex;
    std::array<FrameLease*, 64> items{};
    std::size_t size = 0;
  };
  static FreeList& free_list() {
    static FreeList* list = new FreeList;
    return *list;
  }
  explicit FrameLease(FramePtr frame) : frame_(std::move(frame)) {}

  FramePtr frame_;
};

/// Converts a time in `base` to nanoseconds; kNoTimestamp when either is unknown.
inline std::int64_t to_ns(std::int64_t time, AVRational base) {
  if (time == AV_NOPTS_VALUE || base.num <= 0 || base.den <= 0) return kNoTimestamp;
  return av_rescale_q(time, base, AVRational{1, 1'000'000'000});
}

namespace detail {

inline std::string describe(const AVFrame& frame) {
  return "AVFrame " + ffmpeg::to_string(static_cast<AVPixelFormat>(frame.format)) + " " + std::to_string(frame.width) +
         "x" + std::to_string(frame.height);
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
