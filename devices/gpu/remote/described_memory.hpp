// SPDX-License-Identifier: Apache-2.0
// Memory that another API exported, by the system's number for it.
#pragma once

#include <cstddef>

#include <tenon/core/any.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>

namespace tenon::inline v1::gpu_device {

/// What another API exported, by its descriptor (OS_HANDLE, or MEM_HANDLE), which stays the application's. OpenCL has it as long as the
/// tensor lives. @param size  Bytes that the tensor needs.
/// @errors AssertFailure: no valid descriptor; kUnimplemented: the device imports none of this kind; those of the import.
Tensor described_memory(const Gpu& gpu, const AnyMap& params, std::size_t size);

}  // namespace tenon::inline v1::gpu_device
