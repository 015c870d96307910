// SPDX-License-Identifier: Apache-2.0
// Frames of devices, and FFmpeg's devices.
#include <tenon/frameworks/ffmpeg/hardware.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/frame.hpp>
#include <tenon/frameworks/dmabuf/import_cache.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE bool is_hardware(const AVFrame& frame) {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return frame.hw_frames_ctx || (descriptor && (descriptor->flags & AV_PIX_FMT_FLAG_HWACCEL));
}

/// The format of the pixels, as the device's frames say it.
TENON_INLINE AVPixelFormat pixels_of(const AVFrame& frame) {
  return frame.hw_frames_ctx ? reinterpret_cast<AVHWFramesContext*>(frame.hw_frames_ctx->data)->sw_format
                             : AV_PIX_FMT_NONE;
}

/// `frame` as DRM_PRIME: itself, or a mapping, which ends with it.
/// @errors kUnimplemented: its device hands out no dma-bufs.
TENON_INLINE FramePtr as_drm_prime(const AVFrame& frame) {
  FramePtr mapped = new_frame();
  int error = 0;
  if (frame.format == AV_PIX_FMT_DRM_PRIME) {
    error = av_frame_ref(mapped.get(), &frame);
    if (error < 0) throw make_error(error, describe(frame), "av_frame_ref");
    return mapped;
  }
  for (const int access : {AV_HWFRAME_MAP_READ | AV_HWFRAME_MAP_WRITE, int{AV_HWFRAME_MAP_READ}}) {
    mapped->format = AV_PIX_FMT_DRM_PRIME;
    error = av_hwframe_map(mapped.get(), &frame, access | AV_HWFRAME_MAP_DIRECT);
    if (error >= 0) return mapped;
    av_frame_unref(mapped.get());
  }
  throw Error(Code::kUnimplemented,
              describe(frame) + " lies in a device's memory that it does not hand out as dma-bufs (" +
                  error_text(error) + "); download it with av_hwframe_transfer_data, or decode in software",
              "av_hwframe_map", error);
}

/// The format that the layers of a descriptor make together. Layers count more than the AVHWFramesContext: FFmpeg takes
/// the format nearest to the stream's from the driver's list, and the driver decodes into its own. @errors kUnimplemented
TENON_INLINE PixelFormat format_of_layers(const AVFrame& frame, const AVDRMFrameDescriptor& drm) {
  const auto is = [&](std::initializer_list<PixelFormat> wanted) {
    if (static_cast<int>(wanted.size()) != drm.nb_layers) return false;
    int layer = 0;
    for (const PixelFormat& each : wanted)
      if (drm.layers[layer++].format != each.fourcc) return false;
    return true;
  };
  constexpr PixelFormat kTwo8{fourcc('G', 'R', '8', '8')}, kTwo16{fourcc('G', 'R', '3', '2')};
  if (is({kGray8, kTwo8})) return kNv12;
  if (is({kGray16, kTwo16})) return kP010;
  if (drm.nb_layers == 1 && find_format(drm.layers[0].format)) return {drm.layers[0].format};
  if (const FormatMapping* mapping = find_mapping(pixels_of(frame))) return mapping->format;
  throw Error(Code::kUnimplemented, describe(frame) +
                                        ": no Tenon format has its layers; give it an AVHWFramesContext, "
                                        "whose sw_format says what they are");
}

/// @errors kInvalidArgument: nothing, or nothing that is counted.
TENON_INLINE void check_counted(const AVFrame* frame, const char* who) {
  if (!frame) throw Error(Code::kInvalidArgument, std::string("ffmpeg::") + who + ": a null AVFrame");
  if (!frame->buf[0])
    throw Error(Code::kInvalidArgument, std::string("ffmpeg::") + who + ": " + describe(*frame) +
                                            " is not reference-counted, so nothing would keep its surface");
}

/// The dma-bufs of the frame in `lease`. @errors as wrap_hardware()
TENON_INLINE Frame build_hardware(const Ref<FrameLease>& lease, AVRational time_base, dmabuf::ImportCache* cache) {
  const AVFrame& frame = *lease->frame();
  if (frame.width <= 0 || frame.height <= 0)
    throw Error(Code::kInvalidArgument, describe(frame) + ": no picture in it");
  const FramePtr mapped = as_drm_prime(frame);
  const auto* drm = reinterpret_cast<const AVDRMFrameDescriptor*>(mapped->data[0]);
  if (!drm || drm->nb_objects < 1 || drm->nb_objects > AV_DRM_MAX_PLANES || drm->nb_layers < 1 ||
      drm->nb_layers > AV_DRM_MAX_PLANES)
    throw Error(Code::kInvalidArgument, describe(frame) + ": its AVDRMFrameDescriptor has no objects or layers");
  FormatMapping mapping;
  mapping.format = format_of_layers(frame, *drm);
  mapping.format.modifier = drm->objects[0].format_modifier;
  FrameInfo info = make_info(mapping, frame.width, frame.height, frame.colorspace, frame.color_range);
  if (frame.nb_side_data != 0) info.rotation = rotation_of(frame);
  std::array<dmabuf::FrameObject, AV_DRM_MAX_PLANES> objects;
  for (int i = 0; i < drm->nb_objects; ++i) {
    if (drm->objects[i].format_modifier != info.format.modifier)
      throw Error(Code::kUnimplemented, describe(frame) + ": its planes have different modifiers");
    objects[static_cast<std::size_t>(i)] = {drm->objects[i].fd, drm->objects[i].size};
  }
  const PixelFormatInfo& format = format_info(info.format);
  if ((frame.crop_left | frame.crop_top) != 0 && info.format.modifier != kModifierLinear)
    throw Error(Code::kUnimplemented, describe(frame) + ": it is cropped at the left or top, and tiled");
  std::vector<dmabuf::FramePlane> planes;
  for (int l = 0; l < drm->nb_layers; ++l) {
    for (int p = 0; p < drm->layers[l].nb_planes && p < AV_DRM_MAX_PLANES; ++p) {
      const AVDRMPlaneDescriptor& plane = drm->layers[l].planes[p];
      if (plane.object_index < 0 || plane.offset < 0 || plane.pitch < 0)
        throw Error(Code::kInvalidArgument, describe(frame) + ": a plane of its AVDRMFrameDescriptor is negative");
      const PlaneLayout layout = planes.size() < format.plane_count ? format.planes[planes.size()] : PlaneLayout{};
      const auto pitch = static_cast<std::size_t>(plane.pitch);
      const std::size_t cropped = (frame.crop_top >> layout.height_shift) * pitch +
                                  (frame.crop_left >> layout.width_shift) * layout.channels * size_bytes(format.sample);
      planes.push_back(
          {static_cast<std::size_t>(plane.object_index), static_cast<std::size_t>(plane.offset) + cropped, pitch});
    }
  }
  const std::uint64_t accepted[] = {info.format.modifier};
  const Frame imported = dmabuf::import_frame(info, std::span(objects).first(static_cast<std::size_t>(drm->nb_objects)),
                                              planes, TimelinePoint::ready(), accepted, cache);
  std::array<Tensor, 4> leased;
  for (std::size_t p = 0; p < imported.plane_count(); ++p) leased[p] = imported.plane(p).with_lease(lease);
  Frame result = imported.with_planes(std::span(leased).first(imported.plane_count()));
  const std::int64_t time = frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : frame.pts;
  result.set_timestamp_ns(to_ns(time, time_base.num > 0 ? time_base : frame.time_base));
  return result;
}

}  // namespace detail

TENON_INLINE Frame wrap_hardware(const AVFrame* frame, AVRational time_base, dmabuf::ImportCache* cache) {
  detail::check_counted(frame, "wrap_hardware");
  Ref<FrameLease> lease = FrameLease::take();
  if (const int error = av_frame_ref(lease->frame(), frame); error < 0)
    throw detail::make_error(error, "ffmpeg::wrap_hardware of " + detail::describe(*frame), "av_frame_ref");
  return detail::build_hardware(lease, time_base, cache);
}

TENON_INLINE Frame adopt_hardware(AVFrame* frame, AVRational time_base, dmabuf::ImportCache* cache) {
  detail::check_counted(frame, "adopt_hardware");
  Ref<FrameLease> lease = FrameLease::take();
  av_frame_move_ref(lease->frame(), frame);
  try {
    return detail::build_hardware(lease, time_base, cache);
  } catch (...) {
    av_frame_move_ref(frame, lease->frame());
    throw;
  }
}

namespace detail {

/// Behind an AVFrame over dma-bufs: FFmpeg's descriptor, the descriptors of the kernel, and what keeps the pixels.
struct DrmOwner {
  AVDRMFrameDescriptor drm{};
  dmabuf::FrameDescriptor exported;
  Frame frame;
  static void release(void* opaque, std::uint8_t*) { delete static_cast<DrmOwner*>(opaque); }
};

/// AVHWFramesContext of DRM_PRIME frames: filters want to know what pixels they have. @errors those of FFmpeg
TENON_INLINE void set_drm_frames(AVFrame& frame, AVPixelFormat pixels) {
  static AVBufferRef* const device = [] {
    AVBufferRef* made = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM);
    if (!made) return made;
    auto* drm = static_cast<AVDRMDeviceContext*>(reinterpret_cast<AVHWDeviceContext*>(made->data)->hwctx);
    drm->fd = -1;  // Dma-bufs belong to the kernel, not to a device.
    if (av_hwdevice_ctx_init(made) < 0) av_buffer_unref(&made);
    return made;
  }();
  frame.hw_frames_ctx = another(make_frames(device, AV_PIX_FMT_DRM_PRIME, pixels, frame.width, frame.height).get());
}

}  // namespace detail

TENON_INLINE FramePtr drm_frame(const Frame& frame, Deadline deadline, Ledger* ledger) {
  PixelFormat pixels = frame.info().format;
  pixels.modifier = kModifierLinear;
  const FormatMapping* mapping = find_mapping(pixels);
  if (frame.plane_count() != 0 && !mapping)
    throw Error(Code::kUnimplemented, "ffmpeg::drm_frame: FFmpeg has no format like " + to_string(frame.info().format));
  auto owner = std::make_unique<detail::DrmOwner>();
  owner->exported = dmabuf::export_frame(frame, deadline, ledger);
  owner->exported.acquire.wait(deadline, ledger);
  owner->frame = frame;
  AVDRMFrameDescriptor& drm = owner->drm;
  for (const dmabuf::FrameDescriptor::Object& object : owner->exported.objects)
    drm.objects[drm.nb_objects++] = {object.fd.get(), object.size_bytes, frame.info().format.modifier};
  drm.nb_layers = 1;
  drm.layers[0].format = frame.info().format.fourcc;
  for (const dmabuf::FramePlane& plane : owner->exported.planes)
    drm.layers[0].planes[drm.layers[0].nb_planes++] = {static_cast<int>(plane.object),
                                                       static_cast<std::ptrdiff_t>(plane.offset_bytes),
                                                       static_cast<std::ptrdiff_t>(plane.pitch_bytes)};
  FramePtr out = detail::new_frame();
  out->format = AV_PIX_FMT_DRM_PRIME;
  out->width = static_cast<int>(frame.info().width_px);
  out->height = static_cast<int>(frame.info().height_px);
  out->colorspace = av_colour_space(frame.info().colour_space);
  out->color_range = av_colour_range(frame.info().colour_range);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&drm);
  out->buf[0] = av_buffer_create(bytes, sizeof drm, &detail::DrmOwner::release, owner.get(), AV_BUFFER_FLAG_READONLY);
  if (!out->buf[0]) throw detail::make_error(AVERROR(ENOMEM), "ffmpeg::drm_frame: no AVBuffer", "av_buffer_create");
  static_cast<void>(owner.release());  // The AVBuffer's now.
  out->data[0] = bytes;
  detail::set_drm_frames(*out, mapping->av);
  if (frame.timestamp_ns() != kNoTimestamp) {
    out->pts = out->best_effort_timestamp = frame.timestamp_ns();
    out->time_base = AVRational{1, 1'000'000'000};
  }
  set_rotation(*out, frame.info().rotation);
  return out;
}

TENON_INLINE HardwareDevice HardwareDevice::open(const std::string& kind, const std::string& node) {
  const AVHWDeviceType type = av_hwdevice_find_type_by_name(kind.c_str());
  if (type == AV_HWDEVICE_TYPE_NONE)
    throw Error(Code::kInvalidArgument, "ffmpeg: no kind of device is called \"" + kind + "\"; known:" + known_kinds());
  AVBufferRef* made = nullptr;
  if (const int error = av_hwdevice_ctx_create(&made, type, node.empty() ? nullptr : node.c_str(), nullptr, 0);
      error < 0) {
    throw Error(Code::kUnavailable,
                "ffmpeg: device \"" + kind + "\"" + (node.empty() ? "" : " at " + node) +
                    " cannot be opened: " + detail::error_text(error) + "; is it there, and its driver?",
                "av_hwdevice_ctx_create", error);
  }
  return HardwareDevice(made);
}

TENON_INLINE HardwareDevice HardwareDevice::wrap(const AVBufferRef* device) {
  if (!device) throw Error(Code::kInvalidArgument, "ffmpeg::HardwareDevice::wrap: a null AVBufferRef");
  AVBufferRef* const own = av_buffer_ref(device);
  if (!own) throw detail::make_error(AVERROR(ENOMEM), "ffmpeg: no reference to a device", "av_buffer_ref");
  return HardwareDevice(own);
}

TENON_INLINE HardwareDevice HardwareDevice::adopt(AVBufferRef* device) {
  if (!device) throw Error(Code::kInvalidArgument, "ffmpeg::HardwareDevice::adopt: a null AVBufferRef");
  return HardwareDevice(device);
}

TENON_INLINE std::string HardwareDevice::known_kinds() {
  std::string names;
  for (AVHWDeviceType type = av_hwdevice_iterate_types(AV_HWDEVICE_TYPE_NONE); type != AV_HWDEVICE_TYPE_NONE;
       type = av_hwdevice_iterate_types(type))
    names += std::string(" ") + av_hwdevice_get_type_name(type);
  return names;
}

namespace detail {

TENON_INLINE std::shared_ptr<AVBufferRef> make_frames(AVBufferRef* device, AVPixelFormat format, AVPixelFormat pixels,
                                                      int width_px, int height_px) {
  AVBufferRef* const made = device ? av_hwframe_ctx_alloc(device) : nullptr;
  if (!made) throw make_error(AVERROR(ENOMEM), "ffmpeg: no AVHWFramesContext", "av_hwframe_ctx_alloc");
  std::shared_ptr<AVBufferRef> frames(made, [](AVBufferRef* last) { av_buffer_unref(&last); });
  auto* about = reinterpret_cast<AVHWFramesContext*>(made->data);
  about->format = format;
  about->sw_format = pixels;
  about->width = width_px;
  about->height = height_px;
  if (const int error = av_hwframe_ctx_init(made); error < 0)
    throw make_error(error,
                     "ffmpeg: an AVHWFramesContext of " + std::to_string(width_px) + "x" + std::to_string(height_px),
                     "av_hwframe_ctx_init");
  return frames;
}

TENON_INLINE AVBufferRef* another(const AVBufferRef* buffer) {
  AVBufferRef* const own = av_buffer_ref(buffer);
  if (!own) throw make_error(AVERROR(ENOMEM), "ffmpeg: no reference to an AVBuffer", "av_buffer_ref");
  return own;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
