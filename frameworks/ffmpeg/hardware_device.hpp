// SPDX-License-Identifier: Apache-2.0
// AVHWDeviceContext with owners.
#pragma once

#include <memory>
#include <string>

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
  static HardwareDevice open(const std::string& kind, const std::string& node = {});
  /// Takes a reference to an application's AVHWDeviceContext. @errors kInvalidArgument: null; kResourceExhausted.
  static HardwareDevice wrap(const AVBufferRef* device);
  /// Takes over the caller's reference.
  static HardwareDevice adopt(AVBufferRef* device);

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
  static std::string known_kinds();

  std::shared_ptr<AVBufferRef> device_;
};

namespace detail {

/// An AVHWFramesContext of `device`: what filters and encoders ask frames for. @errors those of FFmpeg
std::shared_ptr<AVBufferRef> make_frames(AVBufferRef* device, AVPixelFormat format, AVPixelFormat pixels, int width_px,
                                         int height_px);

/// Another reference. @errors kResourceExhausted
AVBufferRef* another(const AVBufferRef* buffer);

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
