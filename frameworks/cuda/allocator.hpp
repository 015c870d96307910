// SPDX-License-Identifier: Apache-2.0
// An allocator for libraries that take one (torch.cuda.memory.CUDAPluggableAllocator): its memory has a descriptor, so that
// other APIs on the device use the library's tensors in place.
#pragma once

#include <sys/types.h>

#include <tenon/frameworks/cuda/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// New exported memory of a device's primary context; null when there is none, as C's callers expect. Each call makes at
/// least Device::export_granularity (2 MiB) and costs some 100 us: put a pool before it, as torch.cuda.MemPool is one.
/// @thread any.
void* pluggable_malloc(ssize_t size, int device, abi::Stream /*stream*/) noexcept;

/// Frees it when the work that is in `stream` now is done. Unknown pointers are ignored. @thread any.
void pluggable_free(void* data, ssize_t /*size*/, int /*device*/, abi::Stream stream) noexcept;

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
