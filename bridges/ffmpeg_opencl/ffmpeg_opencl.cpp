// SPDX-License-Identifier: Apache-2.0
// FFmpeg's OpenCL devices and frames, by its hwcontext_opencl.
#include <tenon/bridges/ffmpeg_opencl/ffmpeg_opencl.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/make.hpp>

extern "C" {
#include <libavutil/hwcontext_opencl.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg_opencl {
namespace detail {

TENON_INLINE const AVOpenCLDeviceContext& native_of(const AVHWDeviceContext& device) {
  return *static_cast<const AVOpenCLDeviceContext*>(device.hwctx);
}

/// The mapping of a frame's format. @errors kUnimplemented: FFmpeg has no such format.
TENON_INLINE const ffmpeg::FormatMapping& mapping_of(const FrameInfo& info) {
  if (const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(info.format)) return *mapping;
  throw Error(Code::kUnimplemented, "ffmpeg_opencl: FFmpeg has no format like " + to_string(info.format));
}

/// Plane `p` of `info` of an image, which may be larger. @errors kInvalidArgument: it is smaller, or has other samples.
TENON_INLINE Tensor visible(const Tensor& image, const FrameInfo& info, std::size_t p) {
  const Shape wanted = plane_shape(info, p);
  if (image.shape() == wanted) return image;
  bool fits = image.shape().size() == wanted.size();
  for (std::size_t axis = 0; fits && axis < wanted.size(); ++axis)
    fits = axis < 2 ? wanted[axis] <= image.shape()[axis] : wanted[axis] == image.shape()[axis];
  if (!fits)
    throw Error(Code::kInvalidArgument, "ffmpeg_opencl: the image of plane " + std::to_string(p) + " is " +
                                            to_string(image.shape()) + ", and the picture needs " + to_string(wanted));
  return image.slice(Shape(wanted.size(), 0), wanted);
}

}  // namespace detail

TENON_INLINE ffmpeg::HardwareDevice device(const Context& context) {
  const auto* facet = context.as<opencl::FacetContext>();
  if (!facet)
    throw Error(Code::kInvalidArgument,
                "ffmpeg_opencl::device: " + (context ? std::string(context->name()) : std::string("a null context")) +
                    " is no OpenCL context");
  AVBufferRef* const made = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_OPENCL);
  if (!made) throw Error(Code::kUnimplemented, "ffmpeg_opencl: this FFmpeg was built without OpenCL");
  ffmpeg::HardwareDevice device = ffmpeg::HardwareDevice::adopt(made);
  AVHWDeviceContext* const native = device.native();
  auto& cl = *static_cast<AVOpenCLDeviceContext*>(native->hwctx);
  cl.device_id = facet->native().device.id;
  cl.context = facet->native().context.get();
  cl.command_queue = facet->native().queue.get();
  native->user_opaque = new Context(context);
  native->free = [](AVHWDeviceContext* last) { delete static_cast<Context*>(last->user_opaque); };
  if (const int error = av_hwdevice_ctx_init(made); error < 0)
    throw ffmpeg::client::make_error(error, "ffmpeg_opencl::device over " + std::string(context->name()),
                                     "av_hwdevice_ctx_init");
  return device;
}

TENON_INLINE Context context(const ffmpeg::HardwareDevice& device) {
  if (!device || device.native()->type != AV_HWDEVICE_TYPE_OPENCL)
    throw Error(Code::kInvalidArgument,
                "ffmpeg_opencl::context: " + (device ? device.kind() : std::string("an empty device")) +
                    " is no OpenCL device");
  const AVOpenCLDeviceContext& native = detail::native_of(*device.native());
  return native.command_queue ? opencl::wrap(native.context, native.command_queue)
                              : opencl::wrap_device(native.context, native.device_id);
}

TENON_INLINE Frame wrap(const Context& context, const AVFrame* frame, AVRational time_base) {
  if (!frame) throw Error(Code::kInvalidArgument, "ffmpeg_opencl::wrap: a null AVFrame");
  if (frame->format != AV_PIX_FMT_OPENCL || !frame->hw_frames_ctx || !frame->data[0] || !frame->buf[0])
    throw Error(Code::kInvalidArgument, "ffmpeg_opencl::wrap: an AVFrame of " +
                                            ffmpeg::to_string(static_cast<AVPixelFormat>(frame->format)) +
                                            " has no OpenCL images; ffmpeg::wrap takes it");
  const auto* frames = reinterpret_cast<const AVHWFramesContext*>(frame->hw_frames_ctx->data);
  const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(frames->sw_format);
  if (!mapping || (frame->crop_left | frame->crop_top) != 0)
    throw Error(Code::kUnimplemented, "ffmpeg_opencl::wrap: pictures of " + ffmpeg::to_string(frames->sw_format) +
                                          (mapping ? " that are cropped at the left or top" : " have no Tenon format"));
  FrameInfo info;
  info.format = mapping->format;
  info.width_px = static_cast<std::uint32_t>(frame->width);
  info.height_px = static_cast<std::uint32_t>(frame->height);
  info.colour_space = ffmpeg::colour_space(frame->colorspace);
  info.colour_range = ffmpeg::colour_range(frame->color_range);
  info.rotation = ffmpeg::rotation_of(*frame);
  const Ref<ffmpeg::FrameLease> lease = ffmpeg::FrameLease::take();
  if (const int error = av_frame_ref(lease->frame(), frame); error < 0)
    throw ffmpeg::client::make_error(error, "ffmpeg_opencl::wrap", "av_frame_ref");
  const Context target = opencl::images(context);
  std::vector<Tensor> planes;
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
    const std::size_t from = mapping->planes[p];
    auto* const image = reinterpret_cast<cl_mem>(frame->data[from]);  // @source libavutil/hwcontext_opencl.c
    if (!image)
      throw Error(Code::kInvalidArgument,
                  "ffmpeg_opencl::wrap: the frame has no image for plane " + std::to_string(p) + " of its format");
    planes.push_back(detail::visible(opencl::wrap_image(target, image), info, p).with_lease(lease));
  }
  const std::int64_t time = frame->best_effort_timestamp != AV_NOPTS_VALUE ? frame->best_effort_timestamp : frame->pts;
  return Frame(info, std::move(planes), ffmpeg::to_ns(time, time_base.num > 0 ? time_base : frame->time_base));
}

namespace detail {

/// Behind an AVFrame of ours: what FFmpeg sees, and the frame that keeps it.
struct ImagesOwner {
  AVOpenCLFrameDescriptor images{};
  Frame frame;
};

}  // namespace detail

TENON_INLINE HardwareFrames::HardwareFrames(const Context& context, const FrameInfo& info)
    : frames_(ffmpeg::client::make_frames(device(context).buffer(), AV_PIX_FMT_OPENCL, detail::mapping_of(info).av,
                                          static_cast<int>(info.width_px), static_cast<int>(info.height_px))) {}

TENON_INLINE ffmpeg::FramePtr HardwareFrames::av_frame(const Frame& frame, Deadline deadline, Ledger* ledger) const {
  const auto* about = reinterpret_cast<const AVHWFramesContext*>(frames_->data);
  const FrameInfo& info = frame.info();
  const ffmpeg::FormatMapping* mapping = frame.plane_count() != 0 ? ffmpeg::find_mapping(info.format) : nullptr;
  if (!mapping || mapping->av != about->sw_format || static_cast<int>(info.width_px) != about->width ||
      static_cast<int>(info.height_px) != about->height)
    throw Error(Code::kInvalidArgument, "ffmpeg_opencl: a frame " + to_string(info.format) + " of " +
                                            std::to_string(info.width_px) + "x" + std::to_string(info.height_px) +
                                            " px is none of these " + ffmpeg::to_string(about->sw_format) + " of " +
                                            std::to_string(about->width) + "x" + std::to_string(about->height));
  auto owner = std::make_unique<detail::ImagesOwner>();
  owner->frame = frame;
  owner->images.nb_planes = static_cast<int>(frame.plane_count());
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    const auto* context = plane.context().as<opencl::FacetContext>();
    if (!context || context->native().context.get() != detail::native_of(*about->device_ctx).context)
      throw Error(Code::kInvalidArgument,
                  "ffmpeg_opencl: plane " + std::to_string(p) +
                      " is no image of this cl_context; map the frame to opencl::images() first");
    owner->images.planes[mapping->planes[p]] = opencl::image(plane);
    plane.memory()->wait_for(Access::kReadWrite, deadline, ledger);
  }
  ffmpeg::FramePtr out = ffmpeg::client::new_frame();
  out->format = AV_PIX_FMT_OPENCL;
  out->width = about->width;
  out->height = about->height;
  out->colorspace = ffmpeg::av_colour_space(info.colour_space);
  out->color_range = ffmpeg::av_colour_range(info.colour_range);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&owner->images);
  out->buf[0] = av_buffer_create(
      bytes, sizeof owner->images, [](void* last, std::uint8_t*) { delete static_cast<detail::ImagesOwner*>(last); },
      owner.get(), 0);
  if (!out->buf[0]) throw Error(Code::kResourceExhausted, "ffmpeg_opencl: no AVBuffer for images");
  const AVOpenCLFrameDescriptor& images = owner.release()->images;  // The AVBuffer's now.
  for (int p = 0; p < images.nb_planes; ++p) out->data[p] = reinterpret_cast<std::uint8_t*>(images.planes[p]);
  out->hw_frames_ctx = ffmpeg::client::another(frames_.get());
  if (frame.timestamp_ns() != kNoTimestamp) {
    out->pts = out->best_effort_timestamp = frame.timestamp_ns();
    out->time_base = AVRational{1, 1'000'000'000};
  }
  ffmpeg::set_rotation(*out, info.rotation);
  return out;
}

}  // namespace ffmpeg_opencl
}  // namespace v1
}  // namespace tenon
