// SPDX-License-Identifier: Apache-2.0
// A surface as a frame.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <tenon/frameworks/vaapi/vaapi.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/vaapi/tensor.h"

namespace dlstreamer {

class VAAPIFrame : public BaseFrame {
 public:
  /// Borrows the surface. @param info  Format and tensors of the picture.
  VAAPIFrame(VAAPITensor::VASurfaceID va_surface, const FrameInfo& info, ContextPtr context)
      : BaseFrame(info.media_type, info.format, MemoryType::VAAPI),
        _va_surface(va_surface),
        _context(std::move(context)),
        _info(info) {
    for (size_t plane = 0; plane < info.tensors.size(); ++plane)
      _tensors.push_back(
          std::make_shared<VAAPITensor>(va_surface, static_cast<int>(plane), info.tensors[plane], _context));
  }
  /// Over a frame of Tenon's vaapi framework, which keeps the surface.
  VAAPIFrame(const tenon::Frame& native, const ContextPtr& context)
      : VAAPIFrame(tenon::vaapi::surface(native), detail::from_tenon(native, MemoryType::VAAPI), context) {
    _native = native;
  }

  VAAPITensor::VASurfaceID va_surface(int /*plane_index*/ = 0) const { return _va_surface; }
  const tenon::Frame* native_frame() const override {
    std::call_once(_native_once, [this] {
      if (!_native)
        _native = tenon::vaapi::wrap(ptr_cast<BaseContext>(_context)->native(), _va_surface, detail::to_tenon(_info));
    });
    return &_native;
  }

 private:
  VAAPITensor::VASurfaceID _va_surface;
  ContextPtr _context;
  FrameInfo _info;
  mutable std::once_flag _native_once;
  mutable tenon::Frame _native;
};
using VAAPIFramePtr = std::shared_ptr<VAAPIFrame>;

}  // namespace dlstreamer
