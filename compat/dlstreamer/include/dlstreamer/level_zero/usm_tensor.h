// SPDX-License-Identifier: Apache-2.0
// Memory of a ze_context.
#pragma once

#include <memory>
#include <utility>

#include <tenon/frameworks/level_zero/level_zero.hpp>

#include "dlstreamer/base/context.h"

namespace dlstreamer {

class USMTensor : public BaseTensor {
 public:
  /// @param take_ownership  The allocation is freed with the last thing over it.
  USMTensor(const TensorInfo& info, void* data, bool take_ownership, ContextPtr context)
      : BaseTensor(MemoryType::USM, info, tensor::key::data, std::move(context)), _data(data) {
    set_handle(tensor::key::data, reinterpret_cast<handle_t>(data));
    if (take_ownership)
      set_native(tenon::level_zero::adopt(ptr_cast<BaseContext>(_context)->native(), data, detail::to_tenon(info)));
  }
  USMTensor(const tenon::Tensor& native, ContextPtr context)
      : USMTensor(detail::from_tenon(native.info()), tenon::level_zero::usm_pointer(native), false,
                  std::move(context)) {
    set_native(native);
  }
  /// The address for the device; for the host too, unless it is memory of the device.
  void* data() const override { return _data; }

 protected:
  tenon::Tensor make_native() const override {
    return tenon::level_zero::wrap(ptr_cast<BaseContext>(_context)->native(), _data, detail::to_tenon(_info));
  }

 private:
  void* _data;
};
using USMTensorPtr = std::shared_ptr<USMTensor>;

}  // namespace dlstreamer
