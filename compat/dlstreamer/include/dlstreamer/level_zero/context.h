// SPDX-License-Identifier: Apache-2.0
// A ze_context.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/frameworks/level_zero/level_zero.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/level_zero/usm_tensor.h"

namespace dlstreamer {

class LevelZeroContext : public BaseContext {
 public:
  using BaseContext::over;
  struct key {
    static constexpr auto ze_context = BaseContext::key::ze_context;
    static constexpr auto ze_device = BaseContext::key::ze_device;
  };

  /// Both stay the caller's. Without a device nothing can be mapped.
  LevelZeroContext(ze_context_handle_t ze_context, ze_device_handle_t ze_device = nullptr)
      : BaseContext(MemoryType::USM), _ze_context(ze_context), _ze_device(ze_device) {}

  ze_context_handle_t ze_context() const noexcept { return _ze_context; }
  ze_device_handle_t ze_device() const noexcept { return _ze_device; }
  std::vector<std::string> keys() const override { return {key::ze_context, key::ze_device}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    if (name.empty() || name == key::ze_context) return _ze_context;
    return name == key::ze_device ? _ze_device : nullptr;
  }

  tenon::Context native() override {
    std::call_once(_native_once, [this] { _native = tenon::level_zero::wrap(_ze_context, _ze_device); });
    return _native;
  }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<USMTensor>(mapped, self);
  }

 private:
  ze_context_handle_t _ze_context;
  ze_device_handle_t _ze_device;
  std::once_flag _native_once;
  tenon::Context _native;
};
using LevelZeroContextPtr = std::shared_ptr<LevelZeroContext>;

}  // namespace dlstreamer
