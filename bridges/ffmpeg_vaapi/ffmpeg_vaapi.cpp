// SPDX-License-Identifier: Apache-2.0
// FFmpeg's VAAPI devices and frames as VA-API's surfaces, and back.
#include <tenon/bridges/ffmpeg_vaapi/ffmpeg_vaapi.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg_vaapi {

TENON_INLINE ffmpeg::HardwareDevice device(const Context& context) {
  const VADisplay display = vaapi::display(context);
  AVBufferRef* made = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_VAAPI);
  if (!made) throw Error(Code::kResourceExhausted, "ffmpeg_vaapi::device: no AVHWDeviceContext");
  ffmpeg::HardwareDevice device = ffmpeg::HardwareDevice::adopt(made);
  AVHWDeviceContext* const native = device.native();
  static_cast<AVVAAPIDeviceContext*>(native->hwctx)->display = display;
  native->user_opaque = new Context(context);
  native->free = [](AVHWDeviceContext* last) { delete static_cast<Context*>(last->user_opaque); };
  if (const int error = av_hwdevice_ctx_init(made); error < 0)
    throw ffmpeg::client::make_error(error, "ffmpeg_vaapi::device over " + std::string(context->name()),
                                     "av_hwdevice_ctx_init");
  return device;
}

TENON_INLINE Context context(const ffmpeg::HardwareDevice& device) {
  if (!device || device.native()->type != AV_HWDEVICE_TYPE_VAAPI)
    throw Error(
        Code::kInvalidArgument,
        "ffmpeg_vaapi::context: " + (device ? device.kind() : std::string("an empty device")) + " is no VAAPI device");
  return vaapi::wrap(static_cast<AVVAAPIDeviceContext*>(device.native()->hwctx)->display, device.owner());
}

namespace detail {

/// The surface of a frame. @errors kInvalidArgument: none, or on another display; kUnimplemented: cropped at left or top.
TENON_INLINE VASurfaceID surface_of(const AVFrame& frame, const Context& context) {
  if (frame.format != AV_PIX_FMT_VAAPI || !frame.hw_frames_ctx)
    throw Error(Code::kInvalidArgument, "ffmpeg_vaapi: an AVFrame of " +
                                            ffmpeg::to_string(static_cast<AVPixelFormat>(frame.format)) +
                                            " is in no VA surface; ffmpeg::wrap takes it");
  const auto* frames = reinterpret_cast<const AVHWFramesContext*>(frame.hw_frames_ctx->data);
  if (static_cast<const AVVAAPIDeviceContext*>(frames->device_ctx->hwctx)->display != vaapi::display(context))
    throw Error(Code::kInvalidArgument, "ffmpeg_vaapi: the AVFrame's surface belongs to another VADisplay than " +
                                            std::string(context->name()) + "; ffmpeg_vaapi::context() has that one");
  if ((frame.crop_left | frame.crop_top) != 0)
    throw Error(Code::kUnimplemented,
                "ffmpeg_vaapi: a picture that is cropped at its left or top is no whole surface; "
                "ffmpeg::wrap_hardware takes it");
  return static_cast<VASurfaceID>(reinterpret_cast<std::uintptr_t>(frame.data[3]));
}

TENON_INLINE FrameInfo visible_of(const AVFrame& frame) {
  FrameInfo info;
  info.width_px = static_cast<std::uint32_t>(frame.width);
  info.height_px = static_cast<std::uint32_t>(frame.height);
  info.colour_space = ffmpeg::colour_space(frame.colorspace);
  info.colour_range = ffmpeg::colour_range(frame.color_range);
  info.rotation = ffmpeg::rotation_of(frame);
  return info;
}

TENON_INLINE std::shared_ptr<AVBufferRef> keep(AVBufferRef* buffer) {
  return std::shared_ptr<AVBufferRef>(ffmpeg::client::another(buffer),
                                      [](AVBufferRef* last) { av_buffer_unref(&last); });
}

/// The surfaces of FFmpeg's pools: of one at a time, as a decoder makes another when the stream's size changes.
class PooledSurfaces {
 public:
  explicit PooledSurfaces(Context context) : context_(std::move(context)), cache_(context_) {}
  /// @param lease  Holds the AVFrame. @errors those of surface_of() and SurfaceCache::wrap
  Frame wrap(const Ref<ffmpeg::FrameLease>& lease, AVRational time_base) {
    const AVFrame& frame = *lease->frame();
    const VASurfaceID surface = surface_of(frame, context_);
    if (!pool_ || pool_->data != frame.hw_frames_ctx->data) {
      pool_ = keep(frame.hw_frames_ctx);
      cache_ = vaapi::SurfaceCache(context_, pool_);
    }
    Frame result = cache_.wrap(surface, visible_of(frame), lease);
    const std::int64_t time = frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : frame.pts;
    result.set_timestamp_ns(ffmpeg::to_ns(time, time_base.num > 0 ? time_base : frame.time_base));
    return result;
  }

 private:
  Context context_;
  std::shared_ptr<AVBufferRef> pool_;
  vaapi::SurfaceCache cache_;
};

}  // namespace detail

TENON_INLINE Frame wrap(const Context& context, const AVFrame* frame, AVRational time_base) {
  if (!frame) throw Error(Code::kInvalidArgument, "ffmpeg_vaapi::wrap: a null AVFrame");
  const Ref<ffmpeg::FrameLease> lease = ffmpeg::FrameLease::take();
  if (const int error = av_frame_ref(lease->frame(), frame); error < 0)
    throw ffmpeg::client::make_error(error, "ffmpeg_vaapi::wrap", "av_frame_ref");
  return detail::PooledSurfaces(context).wrap(lease, time_base);
}

TENON_INLINE std::function<Frame(AVFrame*, AVRational)> surfaces(const Context& context) {
  auto pooled = std::make_shared<detail::PooledSurfaces>(context);
  return [pooled](AVFrame* frame, AVRational time_base) {
    const Ref<ffmpeg::FrameLease> lease = ffmpeg::FrameLease::take();
    av_frame_move_ref(lease->frame(), frame);
    try {
      return pooled->wrap(lease, time_base);
    } catch (...) {
      av_frame_move_ref(frame, lease->frame());
      throw;
    }
  };
}

TENON_INLINE HardwareFrames::HardwareFrames(const Context& context, const FrameInfo& info)
    : display_(vaapi::display(context)) {
  PixelFormat pixels = info.format;
  pixels.modifier = kModifierLinear;
  const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(pixels);
  if (!mapping) throw Error(Code::kUnimplemented, "ffmpeg_vaapi: FFmpeg has no format like " + to_string(info.format));
  frames_ = ffmpeg::client::make_frames(device(context).buffer(), AV_PIX_FMT_VAAPI, mapping->av,
                                        static_cast<int>(info.width_px), static_cast<int>(info.height_px));
}

TENON_INLINE ffmpeg::FramePtr HardwareFrames::av_frame(const Frame& frame, Deadline deadline, Ledger* ledger) const {
  const VASurfaceID surface = vaapi::surface(frame);
  const auto* about = reinterpret_cast<const AVHWFramesContext*>(frames_->data);
  PixelFormat pixels = frame.info().format;
  pixels.modifier = kModifierLinear;
  const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(pixels);
  const auto* context = frame.plane(0).context().as<vaapi::SurfaceContext>();
  if (!mapping || mapping->av != about->sw_format || !context || context->display()->handle() != display_ ||
      frame.info().width_px > static_cast<std::uint32_t>(about->width) ||
      frame.info().height_px > static_cast<std::uint32_t>(about->height))
    throw Error(Code::kInvalidArgument,
                "ffmpeg_vaapi: a frame " + to_string(frame.info().format) + " of " +
                    std::to_string(frame.info().width_px) + "x" + std::to_string(frame.info().height_px) +
                    " px is none of these " + ffmpeg::to_string(about->sw_format) + " of " +
                    std::to_string(about->width) + "x" + std::to_string(about->height) + ", or of another VADisplay");
  for (const Tensor& plane : frame.planes()) plane.memory()->wait_for(Access::kRead, deadline, ledger);
  ffmpeg::FramePtr out = ffmpeg::client::new_frame();
  out->format = AV_PIX_FMT_VAAPI;
  out->width = static_cast<int>(frame.info().width_px);
  out->height = static_cast<int>(frame.info().height_px);
  out->colorspace = ffmpeg::av_colour_space(frame.info().colour_space);
  out->color_range = ffmpeg::av_colour_range(frame.info().colour_range);
  auto* const handle = reinterpret_cast<std::uint8_t*>(static_cast<std::uintptr_t>(surface));
  auto kept = std::make_unique<Frame>(frame);
  out->buf[0] = av_buffer_create(
      handle, sizeof surface, [](void* last, std::uint8_t*) { delete static_cast<Frame*>(last); }, kept.get(),
      AV_BUFFER_FLAG_READONLY);
  if (!out->buf[0]) throw Error(Code::kResourceExhausted, "ffmpeg_vaapi: no AVBuffer for a surface");
  static_cast<void>(kept.release());  // The AVBuffer's now.
  out->data[3] = handle;
  out->hw_frames_ctx = ffmpeg::client::another(frames_.get());
  if (frame.timestamp_ns() != kNoTimestamp) {
    out->pts = out->best_effort_timestamp = frame.timestamp_ns();
    out->time_base = AVRational{1, 1'000'000'000};
  }
  ffmpeg::set_rotation(*out, frame.info().rotation);
  return out;
}

}  // namespace ffmpeg_vaapi
}  // namespace v1
}  // namespace tenon
