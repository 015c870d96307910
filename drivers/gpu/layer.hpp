// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer (OPENCL_LAYERS) that presents Intel's OpenCL runtime for CPUs as one of Intel's GPUs, so that programs for
// those GPUs run on machines without one. What it changes lies in five files:
//  - identity.cpp: what the device says of itself, and by which types it is found;
//  - programs.cpp: sub-groups along the linear local id, as GPUs form them, and programs that live as long as their kernels;
//  - blocking.cpp: commands that block until they are over;
//  - memory.cpp: buffers over descriptors of other APIs (dma-bufs);
//  - surfaces.cpp: images over the planes of VA-API's surfaces.
// All else goes to the runtime as it is, and so does every call on another platform's objects.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace tenon::gpu_layer {

/// The runtime's calls. Set once, before any other call.
extern cl_icd_dispatch runtime;

/// The largest work-group of the GPU that is presented; the runtime's own are larger.
inline constexpr std::size_t kMaxWorkGroup = 512;

/// CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR: the handles that buffers are made of.
inline constexpr cl_uint kDmaBuf = 0x2067;

/// Whether the device is the one that is presented: a CPU of Intel's runtime.
bool is_presented(cl_device_id device);
/// Whether it is the platform's first.
bool is_presented(cl_platform_id platform);
/// Whether that device is the context's first. A context's devices are of one platform.
bool is_presented(cl_context context);

/// Each puts its calls into the layer's table.
void install_identity(cl_icd_dispatch& table);
void install_programs(cl_icd_dispatch& table);
void install_blocking(cl_icd_dispatch& table);
void install_memory(cl_icd_dispatch& table);
void install_surfaces(cl_icd_dispatch& table);

/// Answers a query as clGet...Info do: its size, its value, or CL_INVALID_VALUE if the caller's memory is too small.
template <typename T>
cl_int answer(const T* values, std::size_t count, std::size_t size, void* value, std::size_t* size_ret) {
  const std::size_t bytes = count * sizeof(T);
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (size_ret) *size_ret = bytes;
  if (value && bytes) std::memcpy(value, values, bytes);
  return CL_SUCCESS;
}
inline cl_int answer(std::string_view text, std::size_t size, void* value, std::size_t* size_ret) {
  const std::size_t bytes = text.size() + 1;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (size_ret) *size_ret = bytes;
  if (value) {
    std::memcpy(value, text.data(), text.size());
    static_cast<char*>(value)[text.size()] = '\0';
  }
  return CL_SUCCESS;
}

/// A call's body: memory that cannot be had is the caller's error, and no exception leaves the layer.
template <typename Body>
cl_int guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return CL_OUT_OF_HOST_MEMORY;
  }
}
/// The same of a call that gives an object, and its status by a pointer that may be null.
template <typename Body>
auto guarded(cl_int* status, Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    if (status) *status = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
}

}  // namespace tenon::gpu_layer
