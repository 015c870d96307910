// SPDX-License-Identifier: Apache-2.0
// A plane of a surface.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "dlstreamer/base/tensor.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto va_surface_ptr = "va_surface_ptr";  // VASurfaceID*

}  // namespace tensor::key

/// Surfaces are mapped as whole frames; a plane alone is what a frame consists of.
class VAAPITensor : public BaseTensor {
 public:
  using VASurfaceID = uint32_t;

  VAAPITensor(VASurfaceID va_surface, int plane_index, const TensorInfo& info, ContextPtr context)
      : BaseTensor(MemoryType::VAAPI, info, tensor::key::va_surface_ptr, std::move(context)), _va_surface(va_surface) {
    set_handle(tensor::key::va_surface_ptr, reinterpret_cast<handle_t>(&_va_surface));
    set_handle(tensor::key::plane_index, plane_index);
  }

  VASurfaceID va_surface() const { return _va_surface; }
  int plane_index() const { return static_cast<int>(handle(tensor::key::plane_index)); }
  int offset_x() const { return static_cast<int>(handle(tensor::key::offset_x, 0)); }
  int offset_y() const { return static_cast<int>(handle(tensor::key::offset_y, 0)); }

 protected:
  tenon::Tensor make_native() const override {
    throw std::runtime_error(
        "VAAPITensor: a surface is mapped as a whole: map the frame, a VAAPIFrame, not one of its tensors");
  }

  VASurfaceID _va_surface;
};
using VAAPITensorPtr = std::shared_ptr<VAAPITensor>;

}  // namespace dlstreamer
