// SPDX-License-Identifier: Apache-2.0
// A cl_context with one device and a queue.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/frameworks/opencl/opencl.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/opencl/tensor.h"

namespace dlstreamer {

class OpenCLContext;
using OpenCLContextPtr = std::shared_ptr<OpenCLContext>;

class OpenCLContext : public BaseContext {
 public:
  using BaseContext::over;
  struct key {
    static constexpr auto cl_context = BaseContext::key::cl_context;
    static constexpr auto cl_queue = BaseContext::key::cl_queue;
  };

  static OpenCLContextPtr create(const ContextPtr& another_context) {
    return create_from_another<OpenCLContext>(another_context, MemoryType::OpenCL);
  }
  /// Takes references of its own. Without a queue one is made. @errors those of opencl::wrap.
  OpenCLContext(cl_context ctx, cl_command_queue queue = nullptr)
      : BaseContext(MemoryType::OpenCL), _native(tenon::opencl::wrap(ctx, queue)) {}
  /// The cl_context of the other, else one that shares surfaces with its VADisplay, else the first device's.
  OpenCLContext(const ContextPtr& another_context)
      : BaseContext(MemoryType::OpenCL), _native(beside(another_context)) {}

  cl_context context() const { return tenon::opencl::handle(_native); }
  cl_command_queue queue() const { return tenon::opencl::queue(_native); }
  void flush() { clFlush(queue()); }
  void finish() { clFinish(queue()); }
  std::vector<std::string> keys() const override { return {key::cl_context, key::cl_queue}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    if (name.empty() || name == key::cl_context) return context();
    return name == key::cl_queue ? queue() : nullptr;
  }

  tenon::Context native() override { return _native; }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<OpenCLTensor>(mapped, self);
  }

 private:
  static tenon::Context beside(const ContextPtr& another) {
    if (!another) throw std::runtime_error("OpenCLContext: the other context is null");
    if (void* const made = another->handle(key::cl_context))
      return tenon::opencl::wrap(static_cast<cl_context>(made),
                                 static_cast<cl_command_queue>(another->handle(key::cl_queue)));
    try {
      if (void* const display = another->handle(BaseContext::key::va_display))
        return tenon::opencl::make_va_context(display);
    } catch (const tenon::Error& error) {
      if (error.code() != tenon::Code::kUnavailable) throw;  // No device shares surfaces: ways go by dma-bufs.
    }
    return tenon::opencl::make_context();
  }

  tenon::Context _native;
};

}  // namespace dlstreamer

#if defined(DLSTREAMER_OPENVINO_CONTEXT)
#include "dlstreamer/openvino/mappers/opencl_to_openvino.h"
#endif
#define DLSTREAMER_OPENCL_CONTEXT
