// SPDX-License-Identifier: Apache-2.0
// CUDA: device, pinned host and managed memory, streams and events, over the driver API, which is loaded at run time.
//
//   in:   cuda::make_context()                     the device's primary context: the one of cudaMalloc and of torch
//         cuda::wrap(CUcontext)                    the user's own
//         cuda::wrap(context, pointer, info)       the user's memory
//         cuda::allocate(context, type, info)      new memory;  allocate_exported(): with a descriptor, for other APIs
//   out:  cuda::pointer(tensor)                    for kernels and copies;  cuda::export_fd(tensor)  for other APIs
//   sync: cuda::order(tensor, access, stream)      before a kernel: the stream waits, not the host
//         cuda::wrote(tensor, stream or event)     after a kernel that writes the tensor;  cuda::reads(...)  that reads it
//         cuda::stream(context, stream)            as MapOptions::stream;  cuda::point(context, event)  as a TimelinePoint
//
// Include this header; it includes the others of the folder. bridges/cuda_opencl shares exported memory with OpenCL,
// bridges/cuda_dlpack exchanges tensors with torch, CuPy, JAX.
#pragma once

#include <tenon/frameworks/cuda/context.hpp>
#include <tenon/frameworks/cuda/event.hpp>
#include <tenon/frameworks/cuda/make.hpp>
#include <tenon/frameworks/cuda/memory.hpp>
#include <tenon/frameworks/cuda/sync.hpp>
