// SPDX-License-Identifier: Apache-2.0
// A VADisplay.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <va/va.h>

#include <tenon/frameworks/vaapi/vaapi.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/vaapi/frame.h"

namespace dlstreamer {

class VAAPIContext;
using VAAPIContextPtr = std::shared_ptr<VAAPIContext>;

class VAAPIContext : public BaseContext {
 public:
  using BaseContext::over;
  struct key {
    static constexpr auto va_display = BaseContext::key::va_display;
    static constexpr auto va_tile_id = BaseContext::key::va_tile_id;
  };

  static VAAPIContextPtr create(const ContextPtr& another_context) {
    return create_from_another<VAAPIContext>(another_context, MemoryType::VAAPI);
  }
  /// An initialised display, which the caller keeps. @errors std::runtime_error: null
  VAAPIContext(void* va_display) : BaseContext(MemoryType::VAAPI), _display(va_display) { check(); }
  /// The display of the other, which is kept. @errors std::runtime_error: it has none.
  VAAPIContext(const ContextPtr& another_context)
      : BaseContext(MemoryType::VAAPI),
        _display(another_context ? another_context->handle(key::va_display) : nullptr),
        _keeper(another_context) {
    check();
  }

  VADisplay va_display() const { return _display; }
  bool is_valid() const noexcept { return vaDisplayIsValid(_display) != 0; }
  std::vector<std::string> keys() const override { return {key::va_display}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    return name.empty() || name == key::va_display ? _display : nullptr;
  }

  tenon::Context native() override {
    std::call_once(_native_once, [this] { _native = tenon::vaapi::wrap(_display, _keeper); });
    return _native;
  }
  bool takes_whole_frames() const override { return true; }
  TensorPtr over(const tenon::Tensor& /*mapped*/, const ContextPtr& /*self*/, AccessMode /*mode*/) override {
    throw std::runtime_error("VAAPIContext: surfaces are pictures: map a frame with the format of an image");
  }
  BaseFramePtr over(const tenon::Frame& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<VAAPIFrame>(mapped, self);
  }

 private:
  void check() const {
    if (!_display)
      throw std::runtime_error(
          "VAAPIContext: no VADisplay: it is null, or the other context has none under the key va_display");
  }

  void* _display;
  ContextPtr _keeper;
  std::once_flag _native_once;
  tenon::Context _native;
};

}  // namespace dlstreamer

#if defined(DLSTREAMER_GST_CONTEXT)
#include "dlstreamer/gst/mappers/gst_to_vaapi.h"
#endif
#if defined(DLSTREAMER_FFMPEG_CONTEXT)
#include "dlstreamer/ffmpeg/mappers/ffmpeg_to_vaapi.h"
#endif
#if defined(DLSTREAMER_OPENVINO_CONTEXT)
#include "dlstreamer/openvino/mappers/vaapi_to_openvino.h"
#endif
#define DLSTREAMER_VAAPI_CONTEXT
