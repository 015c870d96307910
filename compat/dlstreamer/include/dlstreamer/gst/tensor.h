// SPDX-License-Identifier: Apache-2.0
// A GstMemory as a tensor.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include <tenon/frameworks/gstreamer/gstreamer.hpp>

#include "dlstreamer/base/tensor.h"
#include "dlstreamer/image_info.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto gst_memory = "gst_memory";  // GstMemory*

}  // namespace tensor::key

class GSTTensor : public BaseTensor {
 public:
  /// @param take_ownership  The caller's reference is unreferenced with this tensor.
  GSTTensor(const TensorInfo& info, GstMemory* mem, bool take_ownership, ContextPtr context, int plane_index = 0)
      : BaseTensor(MemoryType::GST, info, tensor::key::gst_memory, std::move(context)),
        _owned(take_ownership ? mem : nullptr) {
    set_handle(tensor::key::gst_memory, reinterpret_cast<handle_t>(mem));
    set_handle(tensor::key::plane_index, plane_index);
  }

  GstMemory* gst_memory() const { return reinterpret_cast<GstMemory*>(handle(tensor::key::gst_memory)); }
  operator GstMemory*() const { return gst_memory(); }
  int offset_x() const { return static_cast<int>(handle(tensor::key::offset_x, 0)); }
  int offset_y() const { return static_cast<int>(handle(tensor::key::offset_y, 0)); }
  int plane_index() const { return static_cast<int>(handle(tensor::key::plane_index)); }

 protected:
  tenon::Tensor make_native() const override { return tenon::gstreamer::wrap(gst_memory(), detail::to_tenon(_info)); }

 private:
  tenon::gstreamer::MemoryPtr _owned;
};
using GstTensorPtr = std::shared_ptr<GSTTensor>;

}  // namespace dlstreamer
