// SPDX-License-Identifier: Apache-2.0
// Surfaces as tensors of OpenVINO's GPU, one for each plane, in place.
#pragma once

#include <memory>
#include <utility>

#include "dlstreamer/openvino/context.h"
#include "dlstreamer/vaapi/context.h"

namespace dlstreamer {

class MemoryMapperVAAPIToOpenVINO : public detail::NamedMapper<MemoryType::VAAPI, MemoryType::OpenVINO> {
 public:
  using NamedMapper::map;
  using NamedMapper::NamedMapper;

  /// @errors those of OpenVINO: a device that shares no surfaces.
  FramePtr map(FramePtr src, AccessMode mode) override {
    const auto context = ptr_cast<OpenVINOContext>(_output_context);
    if (!context->handle(OpenVINOContext::key::ov_remote_context)) return NamedMapper::map(src, mode);
    const auto surface = ptr_cast<VAAPIFrame>(src);
    tenon::vaapi::ready_point(*surface->native_frame()).wait(tenon::default_deadline());
    TensorVector tensors;
    for (const TensorPtr& plane : src) {
      const auto& shape = plane->info().shape;
      const auto remote =
          context->remote_context().create_tensor(ov::element::u8, ov::Shape{1, shape[0], shape[1], shape[2]},
                                                  {{"SHARED_MEM_TYPE", std::string("VA_SURFACE")},
                                                   {"DEV_OBJECT_HANDLE", surface->va_surface()},
                                                   {"VA_PLANE", static_cast<uint32_t>(tensors.size())}});
      tensors.push_back(std::make_shared<OpenVINOTensor>(remote, _output_context));
    }
    return mapped(std::make_shared<BaseFrame>(src->media_type(), src->format(), std::move(tensors)), src, mode);
  }
  detail::MapperMaker maker() const override {
    return [](const ContextPtr& input, const ContextPtr& output) {
      return std::make_shared<MemoryMapperVAAPIToOpenVINO>(input, output);
    };
  }
};

namespace detail {
inline const bool kHasVaapiToOpenVino =
    add_special_mapper<MemoryMapperVAAPIToOpenVINO>(MemoryType::VAAPI, MemoryType::OpenVINO);
}  // namespace detail
}  // namespace dlstreamer
