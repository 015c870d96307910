// SPDX-License-Identifier: Apache-2.0
// New host memory.
#pragma once

#include <memory>

#include <tenon/core/host.hpp>

#include "dlstreamer/cpu/tensor.h"

namespace dlstreamer {

class CPUTensorAlloc final : public CPUTensor {
 public:
  CPUTensorAlloc(const TensorInfo& info)
      : CPUTensor(tenon::Tensor(detail::to_tenon(info), tenon::HostMemory::allocate(info.nbytes())), nullptr) {}
};
using CPUTensorAllocPtr = std::shared_ptr<CPUTensorAlloc>;

}  // namespace dlstreamer
