// SPDX-License-Identifier: Apache-2.0
// cv::Mat.
#pragma once

#include <memory>

#include "dlstreamer/base/context.h"
#include "dlstreamer/opencv/tensor.h"

namespace dlstreamer {

class OpenCVContext : public BaseContext {
 public:
  using BaseContext::over;

  OpenCVContext() : BaseContext(MemoryType::OpenCV) {}
  tenon::Context native() override { return tenon::opencv::context(); }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<OpenCVTensor>(mapped, self);
  }
};
using OpenCVContextPtr = std::shared_ptr<OpenCVContext>;

}  // namespace dlstreamer
