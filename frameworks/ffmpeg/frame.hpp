// SPDX-License-Identifier: Apache-2.0
// AVFrame to Frame and back, never copying.
#pragma once

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>       // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>   // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/hardware.hpp>      // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Wraps the planes of `frame` in place; those of a device (VAAPI, DRM_PRIME) as dma-bufs: wrap_hardware(). Takes its own
/// reference: `frame` may be unreferenced at once, and the bytes live until the last plane goes. Memory of a Tenon pool comes
/// out as that memory, with its views; other buffers have kind "ffmpeg". Not writable while `frame` or a decoder holds references too.
/// @param time_base  Time base of frame->pts; {0, 0} means frame->time_base.
/// FFmpeg's software formats are described in place, big endian ones too, but for those of find_mapping().
/// @errors kUnimplemented: devices that hand out no dma-bufs, formats without a Tenon layout, bottom-up pictures;
///         kInvalidArgument: not reference-counted, a linesize or plane that does not fit; kResourceExhausted.
/// @thread any, while no other thread writes fields of `frame`. @cost av_frame_ref and one small object per buffer;
/// moves no bytes.
/// @source libavutil/frame.h
Frame wrap(const AVFrame* frame, AVRational time_base = {0, 0});

/// As wrap(), but takes over the references of `frame` and leaves it blank, ready for avcodec_receive_frame. Writable
/// if `frame` held the only reference. On failure `frame` keeps its references. @errors as wrap()
Frame adopt(AVFrame* frame, AVRational time_base = {0, 0});

/// `frame` as an AVFrame over the same bytes. Its buffers hold the memory and the lease: a pool buffer returns only
/// after FFmpeg releases it too. They are read-only when the planes are not writable. Timestamp in nanoseconds
/// (time_base is set), colour space, range and rotation are carried over. Waits for the last write to the memory.
/// @errors kUnimplemented: no such format in FFmpeg; kFailedPrecondition: no host address, or strides that AVFrame
///         cannot express; kInvalidArgument: an empty frame or a batch; kResourceExhausted; kDeadlineExceeded.
FramePtr av_frame(const Frame& frame, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
