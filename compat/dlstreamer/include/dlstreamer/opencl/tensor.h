// SPDX-License-Identifier: Apache-2.0
// A tensor in a buffer.
#pragma once

#include <memory>
#include <utility>

#include <tenon/frameworks/opencl/opencl.hpp>

#include "dlstreamer/base/context.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto cl_mem = "cl_mem";  // cl_mem

}  // namespace tensor::key

class OpenCLTensor : public BaseTensor {
 public:
  /// Borrows the buffer. The tensor begins at its handle `offset`, 0 unless it is set.
  OpenCLTensor(const TensorInfo& info, ContextPtr context, ::cl_mem mem)
      : BaseTensor(MemoryType::OpenCL, info, tensor::key::cl_mem, std::move(context)) {
    set_handle(tensor::key::cl_mem, reinterpret_cast<handle_t>(mem));
  }
  OpenCLTensor(const tenon::Tensor& native, ContextPtr context)
      : OpenCLTensor(detail::from_tenon(native.info()), std::move(context), tenon::opencl::buffer(native)) {
    set_handle(tensor::key::offset, static_cast<handle_t>(native.offset()));
    set_native(native);
  }

  ::cl_mem clmem() const { return reinterpret_cast<::cl_mem>(handle(tensor::key::cl_mem)); }
  operator ::cl_mem() const { return clmem(); }
  size_t offset() const { return static_cast<size_t>(handle(tensor::key::offset, 0)); }

 protected:
  tenon::Tensor make_native() const override {
    const size_t size = offset() + _info.nbytes();
    const tenon::Tensor whole =
        tenon::opencl::wrap(ptr_cast<BaseContext>(_context)->native(), clmem(), {tenon::ElementType::kU8, {size}, {}});
    return tenon::Tensor(detail::to_tenon(_info), whole.memory(), whole.offset() + offset(), whole.lease());
  }
};
using OpenCLTensorPtr = std::shared_ptr<OpenCLTensor>;

}  // namespace dlstreamer
