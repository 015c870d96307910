// SPDX-License-Identifier: Apache-2.0
// Windows has no dma-bufs; memory of Direct3D 11 comes by the host.
#include <tenon/frameworks/opencl/edges.hpp>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE std::span<const Edge* const> edges_of_system(MemoryKind /*kind*/) { return {}; }

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
