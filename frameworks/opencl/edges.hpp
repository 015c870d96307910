// SPDX-License-Identifier: Apache-2.0
// The edges of buffers and images.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/frameworks/opencl/buffer_edges.hpp>  // IWYU pragma: export
#include <tenon/frameworks/opencl/dmabuf_edges.hpp>  // IWYU pragma: export
#include <tenon/frameworks/opencl/image_edges.hpp>   // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

/// The edges of contexts of this kind that the system alone has: those of dma-bufs on POSIX. In posix/ and windows/.
std::span<const Edge* const> edges_of_system(MemoryKind kind);

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
