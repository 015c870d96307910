// SPDX-License-Identifier: Apache-2.0
// Functions of extensions, which the loader does not export: looked up for each platform.
#pragma once

#include <cstddef>

#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

inline constexpr const char* kVaSharing = "cl_intel_va_api_media_sharing";

/// A cl_semaphore_khr, which older packaged headers lack.
using SemaphoreHandle = struct _cl_semaphore_khr*;

/// Null where the device does not have the extension. Declared here because packaged headers differ.
/// @source cl_ext.h
struct ExtensionCalls {
  using HandOver = cl_int(CL_API_CALL*)(cl_command_queue, cl_uint, const cl_mem*, cl_uint, const cl_event*, cl_event*);
  using MakeSemaphore = SemaphoreHandle(CL_API_CALL*)(cl_context, const cl_properties*, cl_int*);
  using PassSemaphores = cl_int(CL_API_CALL*)(cl_command_queue, cl_uint, const SemaphoreHandle*, const cl_ulong*,
                                              cl_uint, const cl_event*, cl_event*);
  using ExportSemaphore = cl_int(CL_API_CALL*)(SemaphoreHandle, cl_device_id, cl_uint, std::size_t, void*,
                                               std::size_t*);
  using CountSemaphore = cl_int(CL_API_CALL*)(SemaphoreHandle);

  /// A VASurfaceID, which the driver reads through the pointer.
  using FromSurface = cl_mem(CL_API_CALL*)(cl_context, cl_mem_flags, unsigned int*, cl_uint, cl_int*);

  /// @name cl_intel_va_api_media_sharing
  FromSurface from_surface = nullptr;
  HandOver acquire_surfaces = nullptr, release_surfaces = nullptr;

  HandOver acquire = nullptr, release = nullptr;  ///< clEnqueueAcquireExternalMemObjectsKHR and ...Release...
  MakeSemaphore make_semaphore = nullptr;
  PassSemaphores wait = nullptr, signal = nullptr;
  ExportSemaphore export_semaphore = nullptr;
  CountSemaphore release_semaphore = nullptr;

  bool has_surfaces() const { return from_surface && acquire_surfaces && release_surfaces; }
  bool has_semaphores() const { return make_semaphore && wait && signal && release_semaphore; }
};

/// Null: the platform has no such function.
template <typename Function>
void look_up(Function& function, const Device& device, const char* name) {
  function = injected() ? nullptr
                        : reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(device.platform, name));
}

ExtensionCalls extension_calls(const Device& device);

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
