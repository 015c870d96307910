// SPDX-License-Identifier: Apache-2.0
// Memory of a SYCL queue.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include <sycl/sycl.hpp>

#include <tenon/frameworks/sycl/sycl.hpp>

#include "dlstreamer/base/context.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto usm_type = "usm_type";  // sycl::usm::alloc

}  // namespace tensor::key

class SYCLUSMTensor : public BaseTensor {
 public:
  /// New memory. @errors those of the allocation; std::runtime_error: no type of memory.
  SYCLUSMTensor(const TensorInfo& info, ContextPtr context, sycl::usm::alloc usm_type)
      : SYCLUSMTensor(
            tenon::sycl::allocate(ptr_cast<BaseContext>(context)->native(), type_of(usm_type), detail::to_tenon(info)),
            context) {}
  SYCLUSMTensor(const tenon::Tensor& native, ContextPtr context)
      : BaseTensor(MemoryType::USM, detail::from_tenon(native.info()), tensor::key::data, std::move(context)),
        _data(tenon::sycl::usm_pointer(native)) {
    set_handle(tensor::key::data, reinterpret_cast<handle_t>(_data));
    set_handle(tensor::key::usm_type,
               static_cast<handle_t>(sycl::get_pointer_type(_data, tenon::sycl::handle(native.context()))));
    set_native(native);
  }
  /// The address for the device; for the host too, unless it is memory of the device.
  void* data() const override { return _data; }
  sycl::usm::alloc usm_type() const { return static_cast<sycl::usm::alloc>(handle(tensor::key::usm_type)); }

 private:
  static tenon::sycl::UsmType type_of(sycl::usm::alloc type) {
    if (type == sycl::usm::alloc::host) return tenon::sycl::UsmType::kHost;
    if (type == sycl::usm::alloc::device) return tenon::sycl::UsmType::kDevice;
    if (type == sycl::usm::alloc::shared) return tenon::sycl::UsmType::kShared;
    throw std::runtime_error("SYCLUSMTensor: USM is of the host, of the device or shared");
  }

  void* _data;
};
using SYCLUSMTensorPtr = std::shared_ptr<SYCLUSMTensor>;

}  // namespace dlstreamer
