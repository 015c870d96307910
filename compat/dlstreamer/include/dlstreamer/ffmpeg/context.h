// SPDX-License-Identifier: Apache-2.0
// FFmpeg, with an AVHWDeviceContext or without.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/ffmpeg/frame.h"

#if __has_include(<va/va.h>)
extern "C" {
#include <libavutil/hwcontext_vaapi.h>
}
#endif

namespace dlstreamer {

class FFmpegContext;
using FFmpegContextPtr = std::shared_ptr<FFmpegContext>;

class FFmpegContext : public BaseContext {
 public:
  struct key {
    static constexpr auto device_context = "ffmpeg.device_context";  // AVBufferRef*
    static constexpr auto va_display = BaseContext::key::va_display;
  };

  /// Opens a device. @errors those of HardwareDevice::open.
  explicit FFmpegContext(AVHWDeviceType hw_device_type, const char* device = nullptr)
      : BaseContext(MemoryType::FFmpeg),
        _device(tenon::ffmpeg::HardwareDevice::open(type_name(hw_device_type), device ? device : "")) {}
  /// An application's device. @errors std::runtime_error: null
  explicit FFmpegContext(AVBufferRef* hw_device_ctx, bool take_ownership = true)
      : BaseContext(MemoryType::FFmpeg),
        _device(take_ownership ? tenon::ffmpeg::HardwareDevice::adopt(hw_device_ctx)
                               : tenon::ffmpeg::HardwareDevice::wrap(hw_device_ctx)) {}
  /// @param accel_type  "vaapi"; empty: frames in host memory.
  explicit FFmpegContext(std::string_view accel_type = {}, std::string_view device = {})
      : BaseContext(MemoryType::FFmpeg) {
    if (!accel_type.empty())
      _device = tenon::ffmpeg::HardwareDevice::open(std::string(accel_type), std::string(device));
  }

  /// Belongs to the context. Null without a device.
  AVBufferRef* hw_device_context_ref() const { return _device ? _device.buffer() : nullptr; }
  AVHWDeviceContext* hw_device_context() const { return _device ? _device.native() : nullptr; }
  AVHWDeviceType hw_device_type() const { return _device ? _device.native()->type : AV_HWDEVICE_TYPE_NONE; }
  std::vector<std::string> keys() const override { return {key::device_context, key::va_display}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    if (name.empty() || name == key::device_context) return hw_device_context_ref();
#if __has_include(<va/va.h>)
    if (name == key::va_display && hw_device_type() == AV_HWDEVICE_TYPE_VAAPI)
      return static_cast<AVVAAPIDeviceContext*>(hw_device_context()->hwctx)->display;
#endif
    return nullptr;
  }

  tenon::Context native() override { return tenon::ffmpeg::context(); }

 private:
  static std::string type_name(AVHWDeviceType type) {
    const char* name = av_hwdevice_get_type_name(type);
    return name ? name : "no device type of number " + std::to_string(type);
  }

  tenon::ffmpeg::HardwareDevice _device;
};

}  // namespace dlstreamer

#if defined(DLSTREAMER_VAAPI_CONTEXT)
#include "dlstreamer/ffmpeg/mappers/ffmpeg_to_vaapi.h"
#endif
#define DLSTREAMER_FFMPEG_CONTEXT
