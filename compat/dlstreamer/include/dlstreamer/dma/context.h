// SPDX-License-Identifier: Apache-2.0
// Dma-bufs.
#pragma once

#include <memory>
#include <utility>

#include <tenon/frameworks/dmabuf/dmabuf.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/dma/tensor.h"

namespace dlstreamer {

class DMAContext;
using DMAContextPtr = std::shared_ptr<DMAContext>;

class DMAContext : public BaseContext {
 public:
  using BaseContext::over;

  DMAContext() : BaseContext(MemoryType::DMA) {}
  static DMAContextPtr create() { return std::make_shared<DMAContext>(); }
  static DMAContextPtr create(const ContextPtr& /*another_context*/) { return create(); }

  tenon::Context native() override { return tenon::dmabuf::context(); }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<DMATensor>(mapped, self);
  }
};

}  // namespace dlstreamer
