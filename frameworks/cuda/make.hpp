// SPDX-License-Identifier: Apache-2.0
// Makes contexts, and tensors over memory of CUDA: new, a user's, or another library's.
#pragma once

#include <functional>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cuda/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

namespace detail {

/// "NVIDIA H200" gives "nvidia-h200".
std::string typable(const std::string& name);

Context make_context(const Device& device, const std::string& name);

}  // namespace detail

/// The primary context of a device: the one that the CUDA runtime, and so torch, works in. Every call makes another
/// Tenon context over it. @param ordinal  As the driver counts: CUDA_VISIBLE_DEVICES decides what it sees.
/// @errors kUnavailable: no driver, no device; kInvalidArgument: no device of that number; those of native calls.
/// @cost some 100 ms the first time in a process, then some us.
Context make_context(int ordinal = 0);

/// Wraps the user's CUcontext, which must live as long as the context and its memory.
/// @errors kInvalidArgument: null; those of native calls.
Context wrap(abi::ContextHandle context);

/// @name What is behind a context. @errors kInvalidArgument: a context of another framework.
abi::ContextHandle handle(const Context& context);
const Device& device(const Context& context);

namespace detail {}  // namespace detail

/// Allocates memory of one type as a tensor. @errors as CudaContext::allocate.
Tensor allocate(const Context& context, MemoryType type, const TensorInfo& info);
/// Allocates device memory that other APIs on this device import by its descriptor: OpenCL uses it in place. Comes in
/// multiples of Device::export_granularity (2 MiB): for buffers that stay. @errors as CudaContext::allocate_exported.
Tensor allocate_exported(const Context& context, const TensorInfo& info);

namespace detail {}  // namespace detail

/// Wraps the user's memory (cudaMalloc, cudaMallocHost, cudaMallocManaged, cuMemMap), or a part of it; the user keeps it
/// alive. Memory of the virtual memory API that was made for POSIX descriptors can be imported by others in place.
/// @errors kInvalidArgument: null, unknown to CUDA, another device's; kOutOfRange.
Tensor wrap(const Context& context, abi::DevicePointer data, const TensorInfo& info);
Tensor wrap(const Context& context, void* data, const TensorInfo& info);
/// As wrap(); `release` is called once, when nothing of Tenon uses the memory any more, on any thread, or when this
/// fails. It must not throw.
Tensor adopt(const Context& context, abi::DevicePointer data, const TensorInfo& info, std::function<void()> release,
             bool read_only = false);

/// The type of a tensor's memory. @errors kInvalidArgument: no memory of CUDA.
MemoryType memory_type(const Tensor& tensor);

/// A new descriptor, owned by the caller, for a tensor's whole allocation. @errors kFailedPrecondition: not exportable.
UniqueFd export_fd(const Tensor& tensor);

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
