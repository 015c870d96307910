// SPDX-License-Identifier: Apache-2.0
// zeMem*: reads and checks descriptors; memory.cpp allocates and imports.
#include <cerrno>
#include <cstring>

#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/run/executor.hpp>

namespace tenon::npu {

ze_external_memory_type_flags_t exportable_types() noexcept {
  ze_external_memory_type_flags_t types = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
  if (can_export_dma_buf() || is_as_hardware()) types |= ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  return types;
}

namespace calls {
namespace {

constexpr ze_external_memory_type_flags_t kFdTypes =
    ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD | ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;

/// Requests in a descriptor's chain beyond plain memory.
struct Wishes {
  const ze_external_memory_import_fd_t* fd = nullptr;
  const abi::ExternalSystemMemory* user = nullptr;
  ze_external_memory_type_flags_t exported = 0;
};

ze_result_t read_wishes(const void* chain, Wishes* wishes) {
  return visit_chain(chain, [&](std::uint32_t stype, const abi::ChainLink* link) {
    switch (stype) {
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD:
        wishes->fd = reinterpret_cast<const ze_external_memory_import_fd_t*>(link);
        if (wishes->fd->flags & ~kFdTypes)
          return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "descriptors are imported as opaque ones or dma-bufs");
        return ZE_RESULT_SUCCESS;
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC:
        wishes->exported = reinterpret_cast<const ze_external_memory_export_desc_t*>(link)->flags;
        if (wishes->exported & ~exportable_types())
          return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "memory cannot be exported this way on this machine");
        return ZE_RESULT_SUCCESS;
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32:
      case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_WIN32:
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "NT handles are Windows' own");
      case abi::kSystemMemoryType:
        if (!is_offered("sysmem")) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
        wishes->user = reinterpret_cast<const abi::ExternalSystemMemory*>(link);
        return ZE_RESULT_SUCCESS;
      default:
        return ZE_RESULT_SUCCESS;  // Hints and limits without meaning in software.
    }
  });
}

ze_result_t make(const Wishes& wishes, const Allocation::Description& description, std::size_t size,
                 std::size_t alignment, std::shared_ptr<Allocation>* allocation) {
  if (wishes.fd && wishes.user)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "one allocation cannot be imported from two places");
  if (wishes.fd) {
    const ze_result_t result = Allocation::import_fd(description, wishes.fd->fd, size, allocation);
    if (result == ZE_RESULT_ERROR_INVALID_SIZE)
      return fail(result, "the descriptor's memory is smaller than asked for");
    return result ? fail(result, "the descriptor's memory cannot be mapped and read") : result;
  }
  if (wishes.user) {
    if (!wishes.user->data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (wishes.user->size == 0 || wishes.user->size < size)
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the system memory is smaller than asked for");
    const ze_result_t result =
        Allocation::import_user_memory(description, wishes.user->data, wishes.user->size, allocation);
    return result ? fail(result, "system memory is imported where it is mapped and readable") : result;
  }
  const ze_result_t result = Allocation::allocate(description, size, alignment, allocation);
  return result ? fail(result, "the machine, or this process's control group, has no memory of that size left")
                : result;
}

ze_result_t allocate(ze_context_handle_t context_handle, const void* chain, Allocation::Description description,
                     std::size_t size, std::size_t alignment, void** data) try {
  Ref<Context> context;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (size == 0) return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "an allocation has at least one byte");
  if (size > machine_memory_bytes())
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "more than zeDeviceGetProperties gives as maxMemAllocSize");
  if ((alignment & (alignment - 1)) != 0)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "alignments are powers of two");
  Wishes wishes;
  if (const ze_result_t result = read_wishes(chain, &wishes)) return result;
  description.exported = wishes.exported;
  description.accounts[0] = context->memory();
  if (description.device) description.accounts[1] = description.device->memory();
  std::shared_ptr<Allocation> allocation;
  if (const ze_result_t result = make(wishes, description, size, alignment, &allocation)) return result;
  void* const address = allocation->data();
  if (alignment && reinterpret_cast<std::uintptr_t>(address) % alignment != 0)
    return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  if (!memory_table().insert(context.get(), std::move(allocation)))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory overlaps an allocation or import that is there");
  *data = address;
  return ZE_RESULT_SUCCESS;
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

constexpr ze_host_mem_alloc_flags_t kReadOnly = 1u << 4;  // Since 1.16.
constexpr ze_host_mem_alloc_flags_t kHostFlags = 0x1f;
constexpr ze_device_mem_alloc_flags_t kDeviceFlags = 0x7;

}  // namespace

ze_result_t mem_alloc_shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* device_descriptor,
                             const ze_host_mem_alloc_desc_t* host_descriptor, std::size_t size, std::size_t alignment,
                             ze_device_handle_t device_handle, void** data) {
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!device_descriptor || !host_descriptor) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (device_descriptor->flags & ~kDeviceFlags || host_descriptor->flags & ~kHostFlags)
    return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  Ref<Device> device;
  if (device_handle) {
    if (const ze_result_t result = acquire(device_handle, &device)) return result;
  }
  Allocation::Description description;
  description.type = ZE_MEMORY_TYPE_SHARED;
  description.device = device.get();
  return allocate(context, device_descriptor->pNext, description, size, alignment, data);
}

ze_result_t mem_alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* descriptor,
                             std::size_t size, std::size_t alignment, ze_device_handle_t device_handle, void** data) {
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Ref<Device> device;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!descriptor) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->flags & ~kDeviceFlags) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (descriptor->ordinal != 0) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is one kind of memory, ordinal 0");
  Allocation::Description description;
  description.type = ZE_MEMORY_TYPE_DEVICE;
  description.device = device.get();
  return allocate(context, descriptor->pNext, description, size, alignment, data);
}

ze_result_t mem_alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t* descriptor, std::size_t size,
                           std::size_t alignment, void** data) {
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!descriptor) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->flags & ~kHostFlags) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  Allocation::Description description;
  description.read_only = (descriptor->flags & kReadOnly) != 0;
  return allocate(context, descriptor->pNext, description, size, alignment, data);
}

ze_result_t mem_free(ze_context_handle_t handle, void* data) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (const auto memory = memory_table().find(context.get(), data); memory && memory->is_mapping())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the address is mapped memory: zeVirtualMemUnmap takes it");
  // Command lists that use the memory keep it alive.
  if (!memory_table().remove(context.get(), data))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no allocation of this context begins at that address");
  return ZE_RESULT_SUCCESS;
}

ze_result_t mem_free_ext(ze_context_handle_t handle, const ze_memory_free_ext_desc_t* descriptor, void* data) {
  if (!handle) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!descriptor) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  constexpr ze_driver_memory_free_policy_ext_flags_t kKnown =
      ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE | ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
  if (descriptor->freePolicy & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (!(descriptor->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE)) return mem_free(handle, data);
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  // mem_free() reports unknown addresses. Queues of other contexts may copy from this memory.
  if (const auto memory = memory_table().find(context.get(), data); memory && memory->data() == data)
    for (const auto& executor : context->driver().executors()) executor->wait_for_users_of(*memory);
  return mem_free(handle, data);
}

ze_result_t mem_get_alloc_properties(ze_context_handle_t handle, const void* data,
                                     ze_memory_allocation_properties_t* properties, ze_device_handle_t* device) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!data || !properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto allocation = memory_table().find(context.get(), data);
  properties->type = allocation ? allocation->description().type : ZE_MEMORY_TYPE_UNKNOWN;
  properties->id = allocation ? allocation->id() : 0;
  properties->pageSize = allocation ? kPageSize : 0;
  if (device)
    *device = allocation && allocation->description().device ? allocation->description().device->handle() : nullptr;
  return visit_chain(properties->pNext, [&](std::uint32_t stype, const abi::ChainLink* link) {
    if (stype != ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD) return ZE_RESULT_SUCCESS;
    auto* wanted = reinterpret_cast<ze_external_memory_export_fd_t*>(const_cast<abi::ChainLink*>(link));
    wanted->fd = -1;
    if (!allocation) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const auto exported = allocation->description().exported;
    const auto types = wanted->flags ? wanted->flags : exported;
    if ((types & exported) == 0)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the memory was not allocated to be exported this way");
    wanted->fd = allocation->export_fd(types & exported);
    if (wanted->fd >= 0) return ZE_RESULT_SUCCESS;
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, std::strerror(errno));
  });
}

ze_result_t mem_get_address_range(ze_context_handle_t handle, const void* data, void** base, std::size_t* size) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto allocation = memory_table().find(context.get(), data);
  if (!allocation) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the address is not in memory of this context");
  if (base) *base = allocation->data();
  if (size) *size = allocation->size();
  return ZE_RESULT_SUCCESS;
}

}  // namespace calls
}  // namespace tenon::npu
