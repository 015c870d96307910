// SPDX-License-Identifier: Apache-2.0
// The edge between contexts of CUDA; the others are only asked for by a context's edges().
#pragma once

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

/// Contexts over one CUcontext share their memory. @thread any.
const Edge& cuda_to_cuda();

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
