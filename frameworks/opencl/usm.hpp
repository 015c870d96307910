// SPDX-License-Identifier: Apache-2.0
// Unified shared memory (cl_intel_unified_shared_memory): host, device and shared allocations by pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/native.hpp>
#include <tenon/frameworks/opencl/pointer_context.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// Where the bytes are: the host, the device only, or wherever they were last accessed.
enum class UsmType : std::uint8_t { kHost, kDevice, kShared };

namespace detail {

/// The extension's functions, looked up by name in the platform; and whether any host pointer is valid USM.
struct UsmFunctions {
  clHostMemAllocINTEL_fn host = nullptr;
  clDeviceMemAllocINTEL_fn device = nullptr;
  clSharedMemAllocINTEL_fn shared = nullptr;
  clMemBlockingFreeINTEL_fn free = nullptr;
  clGetMemAllocInfoINTEL_fn info = nullptr;
  clEnqueueMemcpyINTEL_fn copy = nullptr;
  bool host_type = false, device_type = false, shared_type = false;
  bool any_host_pointer = false;
};

template <typename Function>
void load(Function& function, cl_platform_id platform, const char* name) {
  function =
      injected() ? nullptr : reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform, name));
  if (!function)
    throw Error(Code::kUnavailable,
                std::string("opencl: the platform names cl_intel_unified_shared_memory but has no ") + name,
                "clGetExtensionFunctionAddressForPlatform", CL_INVALID_VALUE);
}

UsmFunctions load_usm(const Device& device);

/// The native side of USM, which memory needs to free itself.
struct UsmNative final : RefCounted {
  UsmNative(Ref<Native> common) : native(std::move(common)), functions(load_usm(native->device)) {}
  const Ref<Native> native;
  const UsmFunctions functions;
};

/// Owns one allocation.
class UsmBlock {
 public:
  UsmBlock() = default;
  UsmBlock(Ref<UsmNative> usm, void* data);
  UsmBlock(UsmBlock&& other) noexcept : usm_(std::move(other.usm_)), data_(std::exchange(other.data_, nullptr)) {}
  UsmBlock& operator=(UsmBlock&&) = delete;
  ~UsmBlock();
  void* data() const { return data_; }

 private:
  Ref<UsmNative> usm_;
  void* data_ = nullptr;
};

UsmBlock allocate_usm(const Ref<UsmNative>& usm, UsmType type, std::size_t size, std::size_t alignment);

template <typename T>
T usm_info(const UsmNative& usm, const void* data, cl_mem_info_intel key) {
  T value{};
  check(call(usm.functions.info, usm.native->context.get(), data, key, sizeof(T), static_cast<void*>(&value),
             static_cast<std::size_t*>(nullptr)),
        "clGetMemAllocInfoINTEL", "asking about a USM pointer");
  return value;
}

}  // namespace detail

/// A USM allocation as memory. Host and shared ones are host-addressable.
class UsmMemory final : public Memory {
 public:
  UsmMemory(Context context, const Properties& properties, UsmType type, void* data, detail::UsmBlock owned)
      : Memory(std::move(context), kUsmMemory, properties), type_(type), data_(data), owned_(std::move(owned)) {}
  ~UsmMemory() override { drop_views(); }
  UsmType type() const { return type_; }
  void* data() const { return data_; }

 private:
  UsmType type_;
  void* data_;
  detail::UsmBlock owned_;  // Empty for memory that the user keeps.
};

/// Foreign memory whose address is valid USM here: any host pointer on some devices, or USM of another API over this
/// cl_context.
class UsmView final : public View {
 public:
  UsmView(Context context, Access access, void* host, void* data)
      : View(std::move(context), kUsmMemory, access, host), data_(data) {}
  void* data() const { return data_; }

 private:
  void* data_;
};

/// The address of a tensor's first element, for clSetKernelArgMemPointerINTEL.
/// @errors kInvalidArgument: a tensor of another kind.
void* usm_pointer(const Tensor& tensor);

/// The context of USM over the same cl_context as the buffers.
class UsmContext final : public PointerContext {
 public:
  /// @errors kUnavailable: the platform has no USM.
  UsmContext(Ref<detail::Native> native, const std::string& device_name)
      : PointerContext(native, kUsmMemory, device_name), usm_(make_ref<detail::UsmNative>(std::move(native))) {}

  std::span<const Edge* const> edges() const override;
  const Ref<detail::UsmNative>& usm() const { return usm_; }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Device memory; driver host memory if `wanted.host_access`. @errors kUnimplemented: descriptors, types that the
  /// device lacks; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override;
  Ref<Memory> allocate(const Requirements& wanted, UsmType type);
  Ref<Memory> over(void* data, std::size_t size, UsmType type, detail::UsmBlock owned);

 private:
  std::byte* address(const Tensor& tensor) const override { return static_cast<std::byte*>(usm_pointer(tensor)); }
  detail::Handle<cl_event> copy(void* to, const void* from, std::size_t size) const override;

  Ref<detail::UsmNative> usm_;
};

/// The context of USM over `context`'s cl_context. @errors kUnavailable: the platform lacks it; kInvalidArgument.
Context usm(const Context& context);

/// Allocates USM of a type. @errors as UsmContext::allocate.
Tensor allocate_usm(const Context& context, UsmType type, const TensorInfo& info);

/// The user's USM as a tensor; the user keeps it alive. May begin inside an allocation.
/// @errors kInvalidArgument: null, no USM of this cl_context; kOutOfRange.
Tensor wrap_usm(const Context& context, void* data, const TensorInfo& info);

/// Takes ownership of the allocation: freed once, also when this fails, unless it is no allocation of this context.
/// @errors as wrap_usm(); kInvalidArgument: a pointer into the middle, which stays the caller's.
Tensor adopt_usm(const Context& context, void* data, const TensorInfo& info);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
