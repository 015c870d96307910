// SPDX-License-Identifier: Apache-2.0
// FFmpeg and VA-API over one display: devices made of each other, AVFrames in surfaces as frames, and back, in place.
//
//   options.hardware = ffmpeg_vaapi::device(va);                 FFmpeg decodes on your display
//   options.take_hardware = ffmpeg_vaapi::surfaces(va);          and its frames are VA surfaces
//   Context va = ffmpeg_vaapi::context(device);                  your AVHWDeviceContext's display
//   FramePtr out = ffmpeg_vaapi::HardwareFrames(va, info).av_frame(frame);   for filters and encoders
#pragma once

#include <functional>
#include <memory>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/vaapi/vaapi.hpp>

extern "C" {
#include <libavutil/hwcontext_vaapi.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg_vaapi {

/// An AVHWDeviceContext over a context's display, which it keeps. @errors kInvalidArgument: no vaapi context; those of FFmpeg.
ffmpeg::HardwareDevice device(const Context& context);

/// The display of FFmpeg's device as a context, which keeps the device. @errors kInvalidArgument: empty, or of another kind.
Context context(const ffmpeg::HardwareDevice& device);

/// Wraps an AVFrame of AV_PIX_FMT_VAAPI in place: its surface, and its own reference, so that the surface is not used anew
/// before the last plane goes. Mapping the frame waits for the decoder, and fails for a picture that it could not decode.
/// @errors kInvalidArgument: null, another format, another display; kUnimplemented: cropped at the left or top; those of
/// vaapi::wrap. @thread any. @cost an export; surfaces() does it once for each surface of a pool.
Frame wrap(const Context& context, const AVFrame* frame, AVRational time_base = {0, 0});

/// For Options::take_hardware: a video's frames become surfaces of `context`, each exported once.
/// @errors kInvalidArgument: no vaapi context
std::function<Frame(AVFrame*, AVRational)> surfaces(const Context& context);

/// An AVHWFramesContext over a context's display, for frames of one format and size: what FFmpeg's filters and encoders ask
/// for. @thread as AVBufferRef.
class HardwareFrames {
 public:
  /// @errors kInvalidArgument: no vaapi context; kUnimplemented: FFmpeg has no such format; those of FFmpeg.
  HardwareFrames(const Context& context, const FrameInfo& info);
  /// An AVHWFramesContext; still owned here.
  AVBufferRef* buffer() const { return frames_.get(); }

  /// `frame`, whose surface is of this display, as an AVFrame over the same surface; it holds the frame. Waits for work on
  /// it. @errors kInvalidArgument: no VA surface, another display, format or size than said; kDeadlineExceeded.
  ffmpeg::FramePtr av_frame(const Frame& frame, Deadline deadline = default_deadline(), Ledger* ledger = nullptr) const;

 private:
  VADisplay display_;
  std::shared_ptr<AVBufferRef> frames_;
};

}  // namespace ffmpeg_vaapi
}  // namespace v1
}  // namespace tenon
