// SPDX-License-Identifier: Apache-2.0
// For frameworks whose memory has a descriptor of its own: it as a dma-buf's, without a call.
#pragma once

#include <memory>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf::client {

/// The dma-buf that `source`'s memory lies in, which keeps its descriptor. @thread any.
inline Tensor standing_descriptor(const Edge& edge, const Tensor& source, const Context& to, Access access) {
  return standing_view(edge, source, to, kDmabufMemory, access, [&] {
    const Memory& memory = *source.memory();
    return std::make_unique<DmabufView>(to, widest_access(source), UniqueFd(), memory.borrow_fd(),
                                        memory.fd_kind() != FdKind::kDmabuf);
  });
}

}  // namespace dmabuf::client
}  // namespace v1
}  // namespace tenon
