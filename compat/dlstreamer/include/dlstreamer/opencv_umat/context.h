// SPDX-License-Identifier: Apache-2.0
// cv::UMat in a cl_context.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core/ocl.hpp>

#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/opencv_umat/tensor.h"

namespace dlstreamer {

class OpenCVUMatContext;
using OpenCVUMatContextPtr = std::shared_ptr<OpenCVUMatContext>;

class OpenCVUMatContext : public BaseContext {
 public:
  using BaseContext::over;

  static OpenCVUMatContextPtr create(const ContextPtr& another_context) {
    return create_from_another<OpenCVUMatContext>(another_context, MemoryType::OpenCVUMat);
  }
  /// OpenCV's default cl_context. @errors std::runtime_error: OpenCV finds no OpenCL.
  OpenCVUMatContext() : OpenCVUMatContext(default_context()) {}
  /// The cl_context of the other. @errors std::runtime_error: it has none.
  OpenCVUMatContext(const ContextPtr& another_context) : OpenCVUMatContext(opencl_of(another_context)) {}

  std::vector<std::string> keys() const override { return {key::cl_context, key::cl_queue}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    if (name.empty() || name == key::cl_context) return tenon::opencl::handle(_opencl);
    return name == key::cl_queue ? tenon::opencv_opencl::execution(_native).getQueue().ptr() : nullptr;
  }
  /// Waits for what OpenCV has in its queue.
  void finish() { tenon::opencv_opencl::execution(_native).getQueue().finish(); }

  tenon::Context native() override { return _native; }
  std::vector<tenon::Context> neighbours() override { return {_opencl}; }
  /// OpenCV has one current context for each thread: that of the UMat becomes this thread's.
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    tenon::opencv_opencl::execution(_native).bind();
    return std::make_shared<OpenCVUMatTensor>(mapped, self);
  }

 private:
  explicit OpenCVUMatContext(tenon::Context opencl)
      : BaseContext(MemoryType::OpenCVUMat),
        _opencl(std::move(opencl)),
        _native(tenon::opencv_opencl::make_context(_opencl)) {}
  static tenon::Context default_context() {
    if (!cv::ocl::haveOpenCL() || cv::ocl::Context::getDefault().empty())
      throw std::runtime_error("OpenCVUMatContext: OpenCV finds no OpenCL device");
    return tenon::opencl::wrap(static_cast<cl_context>(cv::ocl::Context::getDefault().ptr()), nullptr);
  }
  static tenon::Context opencl_of(const ContextPtr& another) {
    void* const made = another ? another->handle(key::cl_context) : nullptr;
    if (!made)
      throw std::runtime_error("OpenCVUMatContext: the other context has no cl_context; pass an OpenCLContext");
    if (const auto same = std::dynamic_pointer_cast<BaseContext>(another);
        same && same->memory_type() == MemoryType::OpenCL)
      return same->native();
    return tenon::opencl::wrap(static_cast<cl_context>(made), nullptr);
  }

  tenon::Context _opencl;
  tenon::Context _native;
};

}  // namespace dlstreamer
