// SPDX-License-Identifier: Apache-2.0
// A SYCL queue. Its backend may be any; with Level Zero, the handles ze_context and ze_device are there.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sycl/sycl.hpp>

#include <tenon/frameworks/sycl/sycl.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/sycl/sycl_usm_tensor.h"

namespace dlstreamer {

class SYCLContext;
using SYCLContextPtr = std::shared_ptr<SYCLContext>;

class SYCLContext : public BaseContext {
 public:
  using BaseContext::over;
  struct key {
    static constexpr auto sycl_queue = "sycl_queue";  // sycl::queue*
  };

  static SYCLContextPtr create(sycl::queue sycl_queue) { return std::make_shared<SYCLContext>(std::move(sycl_queue)); }
  SYCLContext(sycl::queue sycl_queue)
      : BaseContext(MemoryType::USM), _sycl_queue(std::move(sycl_queue)), _native(tenon::sycl::wrap(_sycl_queue)) {}

  sycl::queue sycl_queue() const noexcept { return _sycl_queue; }
  std::vector<std::string> keys() const override { return {key::sycl_queue}; }
  handle_t handle(std::string_view name = {}) const noexcept override {
    return name.empty() || name == key::sycl_queue ? const_cast<sycl::queue*>(&_sycl_queue) : nullptr;
  }
  template <typename T>
  T* malloc(size_t count, sycl::usm::alloc kind) {
    return sycl::malloc<T>(count, _sycl_queue, kind);
  }
  template <typename T>
  void free(T* ptr) {
    sycl::free(ptr, _sycl_queue);
  }

  tenon::Context native() override { return _native; }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<SYCLUSMTensor>(mapped, self);
  }

 private:
  sycl::queue _sycl_queue;
  tenon::Context _native;
};

}  // namespace dlstreamer
