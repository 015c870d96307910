// SPDX-License-Identifier: Apache-2.0
// OpenVINO's host memory, or an ov::RemoteContext.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/core.hpp>
#include <openvino/runtime/remote_context.hpp>

#include <tenon/frameworks/openvino/openvino.hpp>
#include <tenon/frameworks/openvino/remote.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/openvino/tensor.h"

namespace dlstreamer {

class OpenVINOContext : public BaseContext {
 public:
  using BaseContext::over;
  struct key {
    static constexpr auto ov_remote_context = "ov_remote_context";  // ov::RemoteContext*
    static constexpr auto cl_context = BaseContext::key::cl_context;
  };

  /// Host memory.
  OpenVINOContext() : BaseContext(MemoryType::OpenVINO), _native(tenon::openvino::context()) {}
  /// The default context of a device; host memory for one without (CPU). @errors those of OpenVINO.
  OpenVINOContext(ov::Core core, const std::string& device) : OpenVINOContext() {
    if (device != "CPU") use(core.get_default_context(device));
  }
  /// A context of the device on the display or the cl_context of `context`. @errors std::runtime_error: it has neither; those of OpenVINO.
  OpenVINOContext(ov::Core core, const std::string& device, ContextPtr context) : OpenVINOContext() {
    if (device == "CPU") return;
    void* const display = context ? context->handle(BaseContext::key::va_display) : nullptr;
    void* const cl = context ? context->handle(key::cl_context) : nullptr;
    if (!display && !cl)
      throw std::runtime_error("OpenVINOContext: the other context has neither a VADisplay nor a cl_context");
    _keeper = std::move(context);
    use(display ? core.create_context(device, {{"CONTEXT_TYPE", std::string("VA_SHARED")}, {"VA_DEVICE", display}})
                : core.create_context(device, {{"CONTEXT_TYPE", std::string("OCL")}, {"OCL_CONTEXT", cl}}));
  }
  /// The context of a compiled model; host memory for a device without.
  OpenVINOContext(ov::CompiledModel compiled_model) : OpenVINOContext() {
    try {
      use(compiled_model.get_context());
    } catch (const ov::Exception&) {  // The CPU has none.
    }
  }

  /// Empty for host memory.
  ov::RemoteContext remote_context() const { return _remote; }
  template <typename T>
  T remote_context() const {
    return _remote.as<T>();
  }
  operator ov::RemoteContext() const { return _remote; }
  std::vector<std::string> keys() const override { return {key::ov_remote_context, key::cl_context}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    if (!_has_remote) return nullptr;
    if (name.empty() || name == key::ov_remote_context) return const_cast<ov::RemoteContext*>(&_remote);
    if (name != key::cl_context) return nullptr;
    const auto found = _parameters.find("OCL_CONTEXT");
    return found == _parameters.end() ? nullptr : found->second.as<void*>();
  }

  tenon::Context native() override { return _native; }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<OpenVINOTensor>(mapped, self);
  }

 private:
  void use(ov::RemoteContext remote) {
    _remote = std::move(remote);
    _parameters = _remote.get_params();
    _native = tenon::openvino::wrap(_remote);
    _has_remote = true;
  }

  ContextPtr _keeper;
  ov::RemoteContext _remote;
  ov::AnyMap _parameters;
  bool _has_remote = false;
  tenon::Context _native;
};
using OpenVINOContextPtr = std::shared_ptr<OpenVINOContext>;

}  // namespace dlstreamer

#if defined(DLSTREAMER_VAAPI_CONTEXT)
#include "dlstreamer/openvino/mappers/vaapi_to_openvino.h"
#endif
#if defined(DLSTREAMER_OPENCL_CONTEXT)
#include "dlstreamer/openvino/mappers/opencl_to_openvino.h"
#endif
#define DLSTREAMER_OPENVINO_CONTEXT
