// SPDX-License-Identifier: Apache-2.0
// For frameworks whose memory has a descriptor of its own: it as a dma-buf's, without a call.
#pragma once

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/standing_view.hpp>  // IWYU pragma: export
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf::client {

/// The dma-buf that `source`'s memory lies in, which keeps its descriptor. @thread any.
Tensor standing_descriptor(const Edge& edge, const Tensor& source, const Context& to, Access access);

}  // namespace dmabuf::client
}  // namespace v1
}  // namespace tenon
