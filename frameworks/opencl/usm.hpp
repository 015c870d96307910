// SPDX-License-Identifier: Apache-2.0
// Unified shared memory (cl_intel_unified_shared_memory): host, device and shared allocations by pointer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
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

inline UsmFunctions load_usm(const Device& device) {
  if (!device.usm)
    throw Error(Code::kUnavailable,
                "opencl: " + device.name + " (" + device.platform_name +
                    ") has no unified shared memory: cl_intel_unified_shared_memory is not among its extensions");
  UsmFunctions usm;
  load(usm.host, device.platform, "clHostMemAllocINTEL");
  load(usm.device, device.platform, "clDeviceMemAllocINTEL");
  load(usm.shared, device.platform, "clSharedMemAllocINTEL");
  load(usm.free, device.platform, "clMemBlockingFreeINTEL");
  load(usm.info, device.platform, "clGetMemAllocInfoINTEL");
  load(usm.copy, device.platform, "clEnqueueMemcpyINTEL");
  using Capabilities = cl_device_unified_shared_memory_capabilities_intel;
  const auto can = [&](cl_device_info key) {
    return (device_info<Capabilities>(device.id, key) & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL) != 0;
  };
  usm.host_type = can(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL);
  usm.device_type = can(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL);
  usm.shared_type = can(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL);
  usm.any_host_pointer = can(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL);
  return usm;
}

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
  UsmBlock(Ref<UsmNative> usm, void* data) : usm_(std::move(usm)), data_(data) {
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  UsmBlock(UsmBlock&& other) noexcept : usm_(std::move(other.usm_)), data_(std::exchange(other.data_, nullptr)) {}
  UsmBlock& operator=(UsmBlock&&) = delete;
  ~UsmBlock() {
    if (!data_) return;
    // Blocking, so that no user command still uses it; the plain call does not wait.
    usm_->functions.free(usm_->native->context.get(), data_);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  void* data() const { return data_; }

 private:
  Ref<UsmNative> usm_;
  void* data_ = nullptr;
};

inline UsmBlock allocate_usm(const Ref<UsmNative>& usm, UsmType type, std::size_t size, std::size_t alignment) {
  const Native& native = *usm->native;
  const UsmFunctions& functions = usm->functions;
  const char* const kind = type == UsmType::kHost ? "host" : type == UsmType::kDevice ? "device" : "shared";
  if (!(type == UsmType::kHost     ? functions.host_type
        : type == UsmType::kDevice ? functions.device_type
                                   : functions.shared_type))
    throw Error(Code::kUnimplemented, std::string("opencl: ") + native.device.name + " has no USM of type " + kind);
  const auto what = [&] { return "allocating " + std::to_string(size) + " bytes of " + kind + " USM"; };
  const auto align = static_cast<cl_uint>(alignment);
  const cl_mem_properties_intel* const none = nullptr;
  const cl_context context = native.context.get();
  if (type == UsmType::kHost)
    return {usm, create("clHostMemAllocINTEL", what, functions.host, context, none, size, align)};
  if (type == UsmType::kDevice)
    return {usm, create("clDeviceMemAllocINTEL", what, functions.device, context, native.device.id, none, size, align)};
  return {usm, create("clSharedMemAllocINTEL", what, functions.shared, context, native.device.id, none, size, align)};
}

/// The block, and where in it the memory begins.
inline std::pair<UsmBlock, void*> allocate_aligned_usm(const Ref<UsmNative>& usm, UsmType type, std::size_t size,
                                                       std::size_t alignment) {
  UsmBlock block = allocate_usm(usm, type, size, alignment);
  void* data = block.data();
  if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) return {std::move(block), data};
  // PoCL 6 takes an alignment and does not keep it: a larger block has a place that is aligned.
  std::size_t room = size + alignment;
  UsmBlock larger = allocate_usm(usm, type, room, alignment);
  data = larger.data();
  std::align(alignment, size, data, room);
  return {std::move(larger), data};
}

inline Handle<cl_event> copy_usm(const UsmNative& usm, void* to, const void* from, std::size_t size) {
  cl_event event = nullptr;
  check(call(usm.functions.copy, usm.native->transfers.get(), cl_bool{CL_FALSE}, to, from, size, cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueMemcpyINTEL", [&] { return "copying " + std::to_string(size) + " bytes of USM"; });
  return Handle<cl_event>(event);
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
inline void* usm_pointer(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const UsmView*>(tensor.view()))
      return static_cast<std::byte*>(view->data()) + tensor.offset();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const UsmMemory*>(tensor.memory().get()))
      return static_cast<std::byte*>(memory->data()) + tensor.offset();
  }
  throw Error(Code::kInvalidArgument,
              "opencl::usm_pointer of " + to_string(tensor) + ": not an opencl.usm; map it to opencl::usm(context)");
}

/// The context of USM over the same cl_context as the buffers.
class UsmContext final : public PointerContext {
 public:
  /// @errors kUnavailable: the platform has no USM.
  UsmContext(Ref<detail::Native> native, const std::string& device_name)
      : PointerContext(native, kUsmMemory, device_name), usm_(make_ref<detail::UsmNative>(std::move(native))) {}

  std::span<const Edge* const> edges() const override;
  const Ref<detail::UsmNative>& usm() const { return usm_; }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone) return Refusal{"USM has no descriptor; allocate with frameworks/cpu"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, wanted.host_access};
  }
  /// Device memory; driver host memory if `wanted.host_access`. @errors kUnimplemented: descriptors, types that the
  /// device lacks; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override {
    return allocate(wanted, wanted.host_access ? UsmType::kHost : UsmType::kDevice);
  }
  Ref<Memory> allocate(const Requirements& wanted, UsmType type) {
    check_offer(wanted);
    const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
    auto [block, data] = detail::allocate_aligned_usm(usm_, type, size, std::max<std::size_t>(wanted.alignment, 64));
    return over(data, size, type, std::move(block));
  }
  Ref<Memory> over(void* data, std::size_t size, UsmType type, detail::UsmBlock owned) {
    Memory::Properties properties;
    properties.size_bytes = size;
    properties.host = type == UsmType::kDevice ? nullptr : data;
    properties.identity = {MemoryIdentity::Kind::kAllocation, 0, reinterpret_cast<std::uintptr_t>(data)};
    return make_ref<UsmMemory>(Context(Ref<ContextImpl>(this)), properties, type, data, std::move(owned));
  }

 private:
  std::byte* address(const Tensor& tensor) const override { return static_cast<std::byte*>(usm_pointer(tensor)); }
  detail::Handle<cl_event> copy(void* to, const void* from, std::size_t size) const override {
    return detail::copy_usm(*usm_, to, from, size);
  }

  Ref<detail::UsmNative> usm_;
};

/// The context of USM over `context`'s cl_context. @errors kUnavailable: the platform lacks it; kInvalidArgument.
inline Context usm(const Context& context) {
  if (context.as<UsmContext>()) return context;
  return detail::buffers(context, "usm").sibling(1, [](const Ref<detail::Native>& native, const std::string& name) {
    return Context(make_ref<UsmContext>(native, name));
  });
}

namespace detail {

inline UsmContext& usm_context(const Context& context, const char* function) {
  auto* usm = context.as<UsmContext>();
  if (!usm)
    throw Error(Code::kInvalidArgument,
                std::string("opencl::") + function + ": the context is none of USM; pass opencl::usm(context)");
  return *usm;
}

template <typename T>
T usm_info(const UsmNative& usm, const void* data, cl_mem_info_intel key) {
  T value{};
  check(call(usm.functions.info, usm.native->context.get(), data, key, sizeof(T), static_cast<void*>(&value),
             static_cast<std::size_t*>(nullptr)),
        "clGetMemAllocInfoINTEL", "asking about a USM pointer");
  return value;
}

struct UsmFacts {
  UsmType type;
  std::size_t bytes;  ///< From the pointer to the end of its allocation.
  bool whole;         ///< The pointer is the allocation's first byte.
};
/// @errors kInvalidArgument: null, or no USM of this context.
inline UsmFacts usm_facts(const UsmNative& usm, void* data, const char* what) {
  if (!data) throw Error(Code::kInvalidArgument, std::string("opencl::") + what + ": a null pointer");
  const auto type = usm_info<cl_unified_shared_memory_type_intel>(usm, data, CL_MEM_ALLOC_TYPE_INTEL);
  if (type != CL_MEM_TYPE_HOST_INTEL && type != CL_MEM_TYPE_DEVICE_INTEL && type != CL_MEM_TYPE_SHARED_INTEL)
    throw Error(Code::kInvalidArgument, std::string("opencl::") + what +
                                            ": the pointer is no USM of this cl_context of " + usm.native->device.name +
                                            " (another context's, freed, or plain host memory)");
  const auto* base = usm_info<const std::byte*>(usm, data, CL_MEM_ALLOC_BASE_PTR_INTEL);
  const auto size = usm_info<std::size_t>(usm, data, CL_MEM_ALLOC_SIZE_INTEL);
  const std::size_t at = static_cast<std::size_t>(static_cast<const std::byte*>(data) - base);
  return {type == CL_MEM_TYPE_HOST_INTEL     ? UsmType::kHost
          : type == CL_MEM_TYPE_DEVICE_INTEL ? UsmType::kDevice
                                             : UsmType::kShared,
          size - at, at == 0};
}

inline Tensor usm_tensor(UsmContext& context, void* data, const UsmFacts& facts, const TensorInfo& info, UsmBlock owned,
                         const char* what) {
  const auto extent = checked_extent_bytes(info);
  if (!extent || *extent > facts.bytes)
    throw Error(Code::kOutOfRange, std::string("opencl::") + what + ": " + to_string(info.shape) + " needs " +
                                       (extent ? std::to_string(*extent) : std::string("too many")) +
                                       " bytes, the allocation has " + std::to_string(facts.bytes) + " from there on");
  return Tensor(info, context.over(data, facts.bytes, facts.type, std::move(owned)));
}

}  // namespace detail

/// Allocates USM of a type. @errors as UsmContext::allocate.
inline Tensor allocate_usm(const Context& context, UsmType type, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "allocate_usm");
  Requirements wanted;
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument,
                "opencl::allocate_usm: the size of " + to_string(info.shape) + " does not fit 63 bits");
  wanted.size_bytes = *extent;
  return Tensor(info, usm.allocate(wanted, type));
}

/// The user's USM as a tensor; the user keeps it alive. May begin inside an allocation.
/// @errors kInvalidArgument: null, no USM of this cl_context; kOutOfRange.
inline Tensor wrap_usm(const Context& context, void* data, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "wrap_usm");
  return detail::usm_tensor(usm, data, detail::usm_facts(*usm.usm(), data, "wrap_usm"), info, {}, "wrap_usm");
}

/// Takes ownership of the allocation: freed once, also when this fails, unless it is no allocation of this context.
/// @errors as wrap_usm(); kInvalidArgument: a pointer into the middle, which stays the caller's.
inline Tensor adopt_usm(const Context& context, void* data, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "adopt_usm");
  const detail::UsmFacts facts = detail::usm_facts(*usm.usm(), data, "adopt_usm");
  if (!facts.whole)
    throw Error(Code::kInvalidArgument, "opencl::adopt_usm: the pointer is not the beginning of its allocation");
  return detail::usm_tensor(usm, data, facts, info, detail::UsmBlock(usm.usm(), data), "adopt_usm");
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
