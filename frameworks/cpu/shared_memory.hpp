// SPDX-License-Identifier: Apache-2.0
// Host memory that other processes and devices can share, under the name of this framework.
#pragma once

#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cpu/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

using tenon::SharedMemory;

/// Host memory that meets `wanted`: plain, or a memfd when a descriptor is asked for.
/// @errors kUnimplemented: other descriptors (frameworks/dmabuf makes dma-bufs); kResourceExhausted.
Ref<Memory> allocate_memory(const Requirements& wanted);

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
