// SPDX-License-Identifier: Apache-2.0
// AVHWDeviceContext with owners.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// A device of FFmpeg's: what decodes (Options::hardware), and where frames lie. A value; empty when default-constructed.
/// @thread as a value.
class HardwareDevice {
 public:
  HardwareDevice() = default;
  /// Opens a device by FFmpeg's name of its kind ("vaapi", "drm", "opencl").
  /// @param node  As FFmpeg takes it ("/dev/dri/renderD128"); empty: its default.
  /// @errors kInvalidArgument: an unknown kind (those known are listed); kUnavailable: no such device, no driver.
  static HardwareDevice open(const std::string& kind, const std::string& node = {}) {
    const AVHWDeviceType type = av_hwdevice_find_type_by_name(kind.c_str());
    if (type == AV_HWDEVICE_TYPE_NONE)
      throw Error(Code::kInvalidArgument,
                  "ffmpeg: no kind of device is called \"" + kind + "\"; known:" + known_kinds());
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
  /// Takes a reference to an application's AVHWDeviceContext. @errors kInvalidArgument: null; kResourceExhausted.
  static HardwareDevice wrap(const AVBufferRef* device) {
    if (!device) throw Error(Code::kInvalidArgument, "ffmpeg::HardwareDevice::wrap: a null AVBufferRef");
    AVBufferRef* const own = av_buffer_ref(device);
    if (!own) throw detail::make_error(AVERROR(ENOMEM), "ffmpeg: no reference to a device", "av_buffer_ref");
    return HardwareDevice(own);
  }
  /// Takes over the caller's reference.
  static HardwareDevice adopt(AVBufferRef* device) {
    if (!device) throw Error(Code::kInvalidArgument, "ffmpeg::HardwareDevice::adopt: a null AVBufferRef");
    return HardwareDevice(device);
  }

  explicit operator bool() const { return static_cast<bool>(device_); }
  /// An AVHWDeviceContext; still owned here. Null when empty.
  AVBufferRef* buffer() const { return device_.get(); }
  AVHWDeviceContext* native() const { return reinterpret_cast<AVHWDeviceContext*>(device_->data); }
  /// "vaapi".
  std::string kind() const { return av_hwdevice_get_type_name(native()->type); }
  /// Keeps the device.
  const std::shared_ptr<AVBufferRef>& owner() const { return device_; }

 private:
  explicit HardwareDevice(AVBufferRef* device) : device_(device, [](AVBufferRef* last) { av_buffer_unref(&last); }) {}
  static std::string known_kinds() {
    std::string names;
    for (AVHWDeviceType type = av_hwdevice_iterate_types(AV_HWDEVICE_TYPE_NONE); type != AV_HWDEVICE_TYPE_NONE;
         type = av_hwdevice_iterate_types(type))
      names += std::string(" ") + av_hwdevice_get_type_name(type);
    return names;
  }

  std::shared_ptr<AVBufferRef> device_;
};

namespace detail {

/// An AVHWFramesContext of `device`: what filters and encoders ask frames for. @errors those of FFmpeg
inline std::shared_ptr<AVBufferRef> make_frames(AVBufferRef* device, AVPixelFormat format, AVPixelFormat pixels,
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

/// Another reference. @errors kResourceExhausted
inline AVBufferRef* another(const AVBufferRef* buffer) {
  AVBufferRef* const own = av_buffer_ref(buffer);
  if (!own) throw make_error(AVERROR(ENOMEM), "ffmpeg: no reference to an AVBuffer", "av_buffer_ref");
  return own;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
