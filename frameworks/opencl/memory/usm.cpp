// SPDX-License-Identifier: Apache-2.0
// Unified shared memory (cl_intel_unified_shared_memory): host, device and shared allocations by pointer.
#include <tenon/frameworks/opencl/usm.hpp>

#include <algorithm>
#include <atomic>
#include <memory>

#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

struct UsmFacts {
  UsmType type;
  std::size_t bytes;  ///< From the pointer to the end of its allocation.
  bool whole;         ///< The pointer is the allocation's first byte.
};

TENON_INLINE UsmFunctions load_usm(const Device& device) {
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

TENON_INLINE UsmBlock::UsmBlock(Ref<UsmNative> usm, void* data) : usm_(std::move(usm)), data_(data) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE UsmBlock::~UsmBlock() {
  if (!data_) return;
  // Blocking, so that no user command still uses it; the plain call does not wait.
  usm_->functions.free(usm_->native->context.get(), data_);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE UsmBlock allocate_usm(const Ref<UsmNative>& usm, UsmType type, std::size_t size, std::size_t alignment) {
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
TENON_INLINE std::pair<UsmBlock, void*> allocate_aligned_usm(const Ref<UsmNative>& usm, UsmType type, std::size_t size,
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

TENON_INLINE Handle<cl_event> copy_usm(const UsmNative& usm, void* to, const void* from, std::size_t size) {
  cl_event event = nullptr;
  check(call(usm.functions.copy, usm.native->transfers.get(), cl_bool{CL_FALSE}, to, from, size, cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueMemcpyINTEL", [&] { return "copying " + std::to_string(size) + " bytes of USM"; });
  return Handle<cl_event>(event);
}

}  // namespace detail

TENON_INLINE void* usm_pointer(const Tensor& tensor) {
  const auto address = find_address<UsmMemory, UsmView>(tensor);
  if (!address)
    throw Error(Code::kInvalidArgument,
                "opencl::usm_pointer of " + to_string(tensor) + ": not an opencl.usm; map it to opencl::usm(context)");
  return reinterpret_cast<void*>(*address);
}

TENON_INLINE std::variant<Offer, Refusal> UsmContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone) return Refusal{"USM has no descriptor; allocate with frameworks/cpu"};
  return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> UsmContext::allocate(const Requirements& wanted) {
  return allocate(wanted, wanted.host_access ? UsmType::kHost : UsmType::kDevice);
}

TENON_INLINE Ref<Memory> UsmContext::allocate(const Requirements& wanted, UsmType type) {
  check_offer(wanted);
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  auto [block, data] = detail::allocate_aligned_usm(usm_, type, size, std::max<std::size_t>(wanted.alignment, 64));
  return over(data, size, type, std::move(block));
}

TENON_INLINE Ref<Memory> UsmContext::over(void* data, std::size_t size, UsmType type, detail::UsmBlock owned) {
  Memory::Properties properties;
  properties.size_bytes = size;
  properties.host = type == UsmType::kDevice ? nullptr : data;
  properties.identity = {MemoryIdentity::Kind::kAllocation, 0, reinterpret_cast<std::uintptr_t>(data)};
  return make_ref<UsmMemory>(Context(Ref<ContextImpl>(this)), properties, type, data, std::move(owned));
}

TENON_INLINE detail::Handle<cl_event> UsmContext::copy(void* to, const void* from, std::size_t size) const {
  return detail::copy_usm(*usm_, to, from, size);
}

TENON_INLINE Context usm(const Context& context) {
  if (context.as<UsmContext>()) return context;
  return detail::buffers(context, "usm").sibling(1, [](const Ref<detail::Native>& native, const std::string& name) {
    return Context(make_ref<UsmContext>(native, name));
  });
}

namespace detail {

TENON_INLINE UsmContext& usm_context(const Context& context, const char* function) {
  auto* usm = context.as<UsmContext>();
  if (!usm)
    throw Error(Code::kInvalidArgument,
                std::string("opencl::") + function + ": the context is none of USM; pass opencl::usm(context)");
  return *usm;
}

/// @errors kInvalidArgument: null, or no USM of this context.
TENON_INLINE UsmFacts usm_facts(const UsmNative& usm, void* data, const char* what) {
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

TENON_INLINE Tensor usm_tensor(UsmContext& context, void* data, const UsmFacts& facts, const TensorInfo& info,
                               UsmBlock owned, const char* what) {
  const auto extent = checked_extent_bytes(info);
  if (!extent || *extent > facts.bytes)
    throw Error(Code::kOutOfRange, std::string("opencl::") + what + ": " + to_string(info.shape) + " needs " +
                                       (extent ? std::to_string(*extent) : std::string("too many")) +
                                       " bytes, the allocation has " + std::to_string(facts.bytes) + " from there on");
  return Tensor(info, context.over(data, facts.bytes, facts.type, std::move(owned)));
}

}  // namespace detail

TENON_INLINE Tensor allocate_usm(const Context& context, UsmType type, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "allocate_usm");
  Requirements wanted;
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument,
                "opencl::allocate_usm: the size of " + to_string(info.shape) + " does not fit 63 bits");
  wanted.size_bytes = *extent;
  return Tensor(info, usm.allocate(wanted, type));
}

TENON_INLINE Tensor wrap_usm(const Context& context, void* data, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "wrap_usm");
  return detail::usm_tensor(usm, data, detail::usm_facts(*usm.usm(), data, "wrap_usm"), info, {}, "wrap_usm");
}

TENON_INLINE Tensor adopt_usm(const Context& context, void* data, const TensorInfo& info) {
  UsmContext& usm = detail::usm_context(context, "adopt_usm");
  const detail::UsmFacts facts = detail::usm_facts(*usm.usm(), data, "adopt_usm");
  if (!facts.whole)
    throw Error(Code::kInvalidArgument, "opencl::adopt_usm: the pointer is not the beginning of its allocation");
  return detail::usm_tensor(usm, data, facts, info, detail::UsmBlock(usm.usm(), data), "adopt_usm");
}

TENON_INLINE void PointerContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  read_staged(tensor, out, [&](const Ref<Memory>& packed) { read_now(tensor, packed, default_deadline()); });
}

TENON_INLINE void PointerContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  write_staged("opencl", tensor, in, [&](const Ref<Memory>& packed) { write_now(tensor, packed, default_deadline()); });
}

TENON_INLINE void PointerContext::read_now(const Tensor& tensor, const Ref<Memory>& packed, Deadline deadline) const {
  const std::byte* const base = address(tensor) - tensor.offset();
  auto* const bytes = static_cast<std::byte*>(packed->host());
  detail::run_copies(tensor, packed, deadline, [&](std::size_t offset, std::size_t at, std::size_t size) {
    return copy(bytes + at, base + offset, size);
  });
}

TENON_INLINE void PointerContext::write_now(const Tensor& tensor, const Ref<Memory>& packed, Deadline deadline) const {
  std::byte* const base = address(tensor) - tensor.offset();
  const auto* const bytes = static_cast<const std::byte*>(packed->host());
  detail::run_copies(tensor, packed, deadline, [&](std::size_t offset, std::size_t at, std::size_t size) {
    return copy(base + offset, bytes + at, size);
  });
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
