// SPDX-License-Identifier: Apache-2.0
// A frame in new host memory.
#pragma once

#include <memory>

#include "dlstreamer/base/frame.h"
#include "dlstreamer/cpu/tensor_alloc.h"
#include "dlstreamer/frame_info.h"

namespace dlstreamer {

class CPUFrameAlloc final : public BaseFrame {
 public:
  CPUFrameAlloc(const FrameInfo& info) : BaseFrame(info.media_type, info.format, MemoryType::CPU) {
    for (const TensorInfo& tensor : info.tensors) _tensors.push_back(std::make_shared<CPUTensorAlloc>(tensor));
  }
};

}  // namespace dlstreamer
