// SPDX-License-Identifier: Apache-2.0
// A tensor that owns a reference to its buffer.
#pragma once

#include <memory>
#include <utility>

#include "dlstreamer/opencl/context.h"

namespace dlstreamer {

class OpenCLTensorRefCounted : public OpenCLTensor {
 public:
  /// Takes over the caller's reference.
  OpenCLTensorRefCounted(const TensorInfo& info, ContextPtr context, cl_mem mem)
      : OpenCLTensor(info, std::move(context), mem), _owned(mem) {}
  /// A new buffer. @errors those of the allocation.
  OpenCLTensorRefCounted(const TensorInfo& info, ContextPtr context) : OpenCLTensor(allocate(info, context), context) {}
  ~OpenCLTensorRefCounted() override {
    if (_owned) clReleaseMemObject(_owned);
  }

 private:
  static tenon::Tensor allocate(const TensorInfo& info, const ContextPtr& context) {
    tenon::Requirements wanted;
    wanted.size_bytes = info.nbytes();
    return tenon::Tensor(detail::to_tenon(info), ptr_cast<OpenCLContext>(context)->native()->allocate(wanted));
  }

  cl_mem _owned = nullptr;
};
using OpenCLTensorRefCountedPtr = std::shared_ptr<OpenCLTensorRefCounted>;

}  // namespace dlstreamer
