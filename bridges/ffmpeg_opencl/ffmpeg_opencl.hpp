// SPDX-License-Identifier: Apache-2.0
// FFmpeg and OpenCL over one cl_context: devices made of each other, AVFrames of AV_PIX_FMT_OPENCL as frames of images, and
// back, in place.
//
//   ffmpeg_opencl::device(opencl).buffer()               FFmpeg's filters on your cl_context and queue
//   Context cl = ffmpeg_opencl::context(device);         your AVHWDeviceContext's cl_context
//   Frame frame = ffmpeg_opencl::wrap(cl, avframe);      its cl_mem images
#pragma once

#include <memory>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/hardware_device.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg_opencl {

/// An AVHWDeviceContext over a context's cl_context, device and queue, which it keeps.
/// @errors kInvalidArgument: no OpenCL context; those of FFmpeg.
ffmpeg::HardwareDevice device(const Context& context);

/// The cl_context of FFmpeg's device as a context of buffers, with references of its own.
/// @errors kInvalidArgument: empty, or of another kind; those of opencl::wrap.
Context context(const ffmpeg::HardwareDevice& device);

/// Wraps an AVFrame of AV_PIX_FMT_OPENCL in place: an image per plane, and its own reference to the frame. What FFmpeg
/// enqueued is done: its filters and transfers wait for it.
/// @param context  Has images or buffers, over the frame's cl_context.
/// @errors kInvalidArgument: null, another format, another cl_context; kUnimplemented: no Tenon format, images without an
/// element type, cropped at the left or top. @thread any.
Frame wrap(const Context& context, const AVFrame* frame, AVRational time_base = {0, 0});

/// An AVHWFramesContext over a context's cl_context, for frames of one format and size. @thread as AVBufferRef.
class HardwareFrames {
 public:
  /// @errors kInvalidArgument: no OpenCL context; kUnimplemented: FFmpeg has no such format; those of FFmpeg.
  HardwareFrames(const Context& context, const FrameInfo& info);
  /// An AVHWFramesContext; still owned here.
  AVBufferRef* buffer() const { return frames_.get(); }

  /// `frame`, whose planes are images of this cl_context, as an AVFrame over the same images; it holds the frame. Waits for
  /// work on it. @errors kInvalidArgument: no images, another format or size than said; kDeadlineExceeded.
  ffmpeg::FramePtr av_frame(const Frame& frame, Deadline deadline = default_deadline(), Ledger* ledger = nullptr) const;

 private:
  std::shared_ptr<AVBufferRef> frames_;
};

}  // namespace ffmpeg_opencl
}  // namespace v1
}  // namespace tenon
