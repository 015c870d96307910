// SPDX-License-Identifier: Apache-2.0
// Buffers over memory of the host's: the application's pages, and files. In place where the device works in the host's memory.
#pragma once

#include <cstddef>

#include <tenon/core/any.hpp>
#include <tenon/devices/gpu/hardware.hpp>

namespace tenon::inline v1::gpu_device {

/// The application's pages (CPU_VA), which stay its own, and must outlive the tensor.
/// @errors kInvalidArgument: null, or where the device would copy; kOutOfRange: CPU_VA_SIZE is too small; kUnimplemented: the device has
/// memory of its own.
client::Handle<cl_mem> host_buffer(const Gpu& gpu, const AnyMap& params, std::size_t size);

/// A file's bytes (FILE_DESCRIPTOR, FILE_OFFSET), mapped until the buffer is gone.
/// @errors kInvalidArgument: none given, no regular file, an offset within a page; kNotFound, kPermissionDenied: it cannot be opened;
/// kOutOfRange: too few bytes; kUnimplemented: the device has memory of its own.
client::Handle<cl_mem> file_buffer(const Gpu& gpu, const AnyMap& params, std::size_t size);

}  // namespace tenon::inline v1::gpu_device
