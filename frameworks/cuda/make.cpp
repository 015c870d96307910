// SPDX-License-Identifier: Apache-2.0
// Makes contexts, and tensors over memory of CUDA: new, a user's, or another library's.
#include <tenon/frameworks/cuda/make.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/cpu/client.hpp>
#include <tenon/frameworks/cuda/context.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

TENON_INLINE std::string typable(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      text += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text;
}

TENON_INLINE Context make_context(const Device& device, const std::string& name) {
  return Context(make_ref<CudaContext>(make_ref<Native>(device, ContextOwner::primary(device)), name));
}

}  // namespace detail

TENON_INLINE Context make_context(int ordinal) {
  const std::vector<Device> all = devices();
  if (all.empty()) throw Error(Code::kUnavailable, "cuda: the driver has no device; look at CUDA_VISIBLE_DEVICES");
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= all.size())
    throw Error(Code::kInvalidArgument, "cuda::make_context: there is no device " + std::to_string(ordinal) +
                                            "; the driver has " + std::to_string(all.size()));
  const Device& device = all[static_cast<std::size_t>(ordinal)];
  return detail::make_context(device, detail::typable(device.name));
}

TENON_INLINE Context wrap(abi::ContextHandle context) {
  if (!context) throw Error(Code::kInvalidArgument, "cuda::wrap: a null CUcontext");
  abi::Device ordinal = 0;
  {
    const detail::Current current(context);
    detail::check(detail::call(detail::driver().cuCtxGetDevice, &ordinal), "cuCtxGetDevice", "wrapping a CUcontext");
  }
  for (const Device& device : devices()) {
    if (device.ordinal != ordinal) continue;
    return Context(make_ref<CudaContext>(make_ref<detail::Native>(device, detail::ContextOwner::borrow(context)),
                                         detail::typable(device.name)));
  }
  throw Error(Code::kInvalidArgument, "cuda::wrap: the driver does not list the CUcontext's device");
}

TENON_INLINE abi::ContextHandle handle(const Context& context) {
  return detail::cuda_context(context, "handle").native().handle();
}

TENON_INLINE const Device& device(const Context& context) {
  return detail::cuda_context(context, "device").native().device;
}

namespace detail {

TENON_INLINE std::size_t extent_of(const TensorInfo& info, const char* function) {
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument,
                std::string("cuda::") + function + ": the size of " + to_string(info.shape) + " does not fit 63 bits");
  return *extent;
}

TENON_INLINE Requirements bytes_for(const TensorInfo& info, const char* function) {
  Requirements wanted;
  wanted.size_bytes = extent_of(info, function);
  return wanted;
}

}  // namespace detail

TENON_INLINE Tensor allocate(const Context& context, MemoryType type, const TensorInfo& info) {
  return Tensor(info, detail::cuda_context(context, "allocate").allocate(detail::bytes_for(info, "allocate"), type));
}

TENON_INLINE Tensor allocate_exported(const Context& context, const TensorInfo& info) {
  return Tensor(info, detail::cuda_context(context, "allocate_exported")
                          .allocate_exported(detail::bytes_for(info, "allocate_exported")));
}

namespace detail {

/// `release` is called once, also when this fails. @param read_only  Nothing here writes.
TENON_INLINE Tensor tensor_over(const Context& context, abi::DevicePointer data, const TensorInfo& info,
                                std::function<void()> release, bool read_only, const char* function) {
  cpu::client::ReleaseGuard guard(release ? std::move(release) : [] {});
  const std::string prefix = std::string("cuda::") + function + " of " + to_string(info.shape) + ": ";
  CudaContext& cuda = cuda_context(context, function);
  const Device& device = cuda.native().device;
  if (data == 0) throw Error(Code::kInvalidArgument, prefix + "a null pointer");
  const std::size_t extent = extent_of(info, function);
  const Current current(cuda.native().handle());
  const auto facts = find_pointer(data);
  if (!facts)
    throw Error(Code::kInvalidArgument, prefix +
                                            "the pointer is no memory that CUDA knows (freed, another process's, or "
                                            "plain host memory, which the router pins or copies)");
  if (facts->type == MemoryType::kDevice && facts->ordinal != device.ordinal)
    throw Error(Code::kInvalidArgument, prefix + "the memory lies on device " + std::to_string(facts->ordinal) +
                                            ", and the context is one of " + device.name + ", device " +
                                            std::to_string(device.ordinal));
  const std::size_t at = data - facts->base;
  if (at > facts->size || extent > facts->size - at)
    throw Error(Code::kOutOfRange, prefix + "it needs " + std::to_string(extent) + " bytes, the allocation has " +
                                       std::to_string(facts->size - std::min<std::size_t>(at, facts->size)) +
                                       " from there on");
  Ref<Memory> memory = cuda.over(*facts, {}, export_found(*facts), guard.get(), read_only);
  guard.disarm();
  return Tensor(info, std::move(memory), at);
}

}  // namespace detail

TENON_INLINE Tensor wrap(const Context& context, abi::DevicePointer data, const TensorInfo& info) {
  return detail::tensor_over(context, data, info, {}, false, "wrap");
}

TENON_INLINE Tensor wrap(const Context& context, void* data, const TensorInfo& info) {
  return wrap(context, reinterpret_cast<std::uintptr_t>(data), info);
}

TENON_INLINE Tensor adopt(const Context& context, abi::DevicePointer data, const TensorInfo& info,
                          std::function<void()> release, bool read_only) {
  return detail::tensor_over(context, data, info, std::move(release), read_only, "adopt");
}

TENON_INLINE MemoryType memory_type(const Tensor& tensor) {
  pointer(tensor);
  const auto* memory = tensor.view() ? nullptr : dynamic_cast<const CudaMemory*>(tensor.memory().get());
  return memory ? memory->type() : MemoryType::kHost;  // Views are of pinned host memory, or of another context's.
}

TENON_INLINE UniqueFd export_fd(const Tensor& tensor) {
  pointer(tensor);
  if (!(tensor.memory()->fd_kind() == FdKind::kCudaFd))
    throw Error(Code::kFailedPrecondition,
                "cuda::export_fd of " + to_string(tensor) +
                    ": its memory was not made to be exported (cudaMalloc's never is); use cuda::allocate_exported");
  return UniqueFd::duplicate(tensor.memory()->borrow_fd());
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
