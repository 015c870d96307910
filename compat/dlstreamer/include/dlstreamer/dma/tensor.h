// SPDX-License-Identifier: Apache-2.0
// A tensor in a dma-buf, or in a sealed memfd that stands in for one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <tenon/frameworks/dmabuf/dmabuf.hpp>

#include "dlstreamer/base/tensor.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto dma_fd = "dma_fd";              // int
static constexpr auto drm_modifier = "drm_modifier";  // 64 bits

}  // namespace tensor::key

class DMATensor : public BaseTensor {
 public:
  /// The tensor begins at the handle `offset` of the descriptor, 0 unless it is set. @param take_ownership  The descriptor is
  /// closed with this tensor; else it stays the caller's and has to be open as long.
  DMATensor(int dma_fd, int64_t drm_modifier, const TensorInfo& info, bool take_ownership = false,
            ContextPtr context = nullptr)
      : BaseTensor(MemoryType::DMA, info, tensor::key::dma_fd, std::move(context)),
        _owned(take_ownership ? dma_fd : -1) {
    set_handle(tensor::key::dma_fd, dma_fd);
    set_handle(tensor::key::drm_modifier, static_cast<handle_t>(drm_modifier));
  }
  /// Over a tensor of Tenon's dmabuf framework, which has the descriptor.
  DMATensor(const tenon::Tensor& native, ContextPtr context)
      : DMATensor(tenon::dmabuf::fd(native), static_cast<int64_t>(native.memory()->modifier()),
                  detail::from_tenon(native.info()), false, std::move(context)) {
    set_handle(tensor::key::offset, static_cast<handle_t>(native.offset()));
    set_native(native);
  }

  int dma_fd() const { return static_cast<int>(handle(tensor::key::dma_fd)); }
  int64_t drm_modifier() const { return handle(tensor::key::drm_modifier); }
  size_t offset() const { return static_cast<size_t>(handle(tensor::key::offset, 0)); }

 protected:
  tenon::Tensor make_native() const override {
    const auto memory = tenon::dmabuf::import(tenon::dmabuf::UniqueFd::duplicate(dma_fd()), offset() + _info.nbytes(),
                                              static_cast<uint64_t>(drm_modifier()));
    return tenon::Tensor(detail::to_tenon(_info), memory, offset());
  }

 private:
  tenon::dmabuf::UniqueFd _owned;
};
using DMATensorPtr = std::shared_ptr<DMATensor>;

}  // namespace dlstreamer
