// SPDX-License-Identifier: Apache-2.0
// One use of an AVFrame, as a lease; its time, and its name in messages.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// One use of an AVFrame's buffers: holds its own reference. Kept in a free list, so that the steady state allocates
/// nothing.
class FrameLease final : public LeaseState {
 public:
  /// Returns an empty one. @errors kResourceExhausted
  static Ref<FrameLease> take();

  /// False while there is any other reference, or the buffers are read-only.
  bool writable() const override { return av_frame_is_writable(frame_.get()) > 0; }
  /// Belongs to the lease: do not unref it or write its fields.
  AVFrame* frame() const { return frame_.get(); }

 protected:
  void dispose() noexcept override;

 private:
  struct FreeList;
  static FreeList& free_list();
  explicit FrameLease(FramePtr frame) : frame_(std::move(frame)) {}

  FramePtr frame_;
};

/// Converts a time in `base` to nanoseconds; kNoTimestamp when either is unknown.
std::int64_t to_ns(std::int64_t time, AVRational base);

namespace detail {

std::string describe(const AVFrame& frame);

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
