// SPDX-License-Identifier: Apache-2.0
// zeVirtualMem* and zePhysicalMem*: ranges of addresses, and memory that clients map there page by page.
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include <tenon/core/fd.hpp>
#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/reservation.hpp>
#include <tenon/drivers/npu/run/queue.hpp>

namespace tenon::npu::calls {
namespace {

class PhysicalMemory final : public Object {
 public:
  using Handle = ze_physical_mem_handle_t;
  static constexpr Kind kKind = Kind::kPhysicalMemory;
  PhysicalMemory(Ref<Context> context, Ref<Device> device, UniqueFd file, std::size_t size)
      : context_(std::move(context)), device_(std::move(device)), file_(std::move(file)), size_(size) {}
  ze_physical_mem_handle_t handle() const noexcept { return static_cast<ze_physical_mem_handle_t>(Object::handle()); }
  const Context& context() const noexcept { return *context_; }
  Device* device() const noexcept { return device_.get(); }
  int fd() const noexcept { return file_.get(); }
  std::size_t size() const noexcept { return size_; }

 private:
  const Ref<Context> context_;
  const Ref<Device> device_;
  const UniqueFd file_;
  const std::size_t size_;
};

ze_result_t check_pages(std::size_t size) {
  if (size == 0 || size % kPageSize != 0)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "sizes are multiples of " + std::to_string(kPageSize) + " bytes");
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_aligned(const void* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % kPageSize != 0)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "addresses are those of pages");
  return ZE_RESULT_SUCCESS;
}

/// For calls about a range: resolves the context, and checks the range.
ze_result_t start(ze_context_handle_t handle, const void* address, std::size_t size, Ref<Context>* context) {
  if (const ze_result_t result = acquire(handle, context)) return result;
  if (!address) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (const ze_result_t result = check_pages(size)) return result;
  return check_aligned(address);
}

bool is_access(ze_memory_access_attribute_t access) {
  return access == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE || access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE ||
         access == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY;
}

/// The mapping that is exactly the range. @return null, after fail(), if there is none.
std::shared_ptr<Allocation> mapping_at(const Context& context, const void* address, std::size_t size) {
  auto mapping = memory_table().find(&context, address);
  if (mapping && mapping->is_mapping() && mapping->data() == address && mapping->size() == size) return mapping;
  fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no memory is mapped at exactly that range");
  return nullptr;
}

}  // namespace

ze_result_t virtual_mem_reserve(ze_context_handle_t handle, const void* start_address, std::size_t size,
                                void** address) try {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!address) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (const ze_result_t result = check_pages(size)) return result;
  auto reservation = Reservation::make(start_address, size);
  if (!reservation) return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, std::strerror(errno));
  *address = reservation->data();
  Reservations::all().insert(context.get(), std::move(reservation));
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t virtual_mem_free(ze_context_handle_t handle, const void* address, std::size_t size) {
  Ref<Context> context;
  if (const ze_result_t result = start(handle, address, size, &context)) return result;
  if (memory_table().overlaps(context.get(), address, size))
    return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "memory is mapped in the range: zeVirtualMemUnmap comes first");
  if (!Reservations::all().remove(context.get(), address, size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "that is no range that zeVirtualMemReserve returned");
  return ZE_RESULT_SUCCESS;
}

ze_result_t virtual_mem_query_page_size(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                        std::size_t size, std::size_t* page_size) {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!page_size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (size == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  *page_size = kPageSize;
  return ZE_RESULT_SUCCESS;
}

ze_result_t physical_mem_create(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                ze_physical_mem_desc_t* descriptor, ze_physical_mem_handle_t* memory) try {
  Ref<Context> context;
  Ref<Device> device;  // None for memory of the host.
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  constexpr ze_physical_mem_flags_t kKnown = 0x3, kOnHost = 0x2;
  if (device_handle || !descriptor || !(descriptor->flags & kOnHost))
    if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!descriptor || !memory) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (const ze_result_t result = check_pages(descriptor->size)) return result;
  if (descriptor->size > machine_memory_bytes())
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "more than the device's memory");
  UniqueFd file;
  if (const ze_result_t result = make_memory_file(descriptor->size, &file)) return result;
  const PhysicalMemory* made =
      make_object<PhysicalMemory>(std::move(context), std::move(device), std::move(file), descriptor->size);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *memory = made->handle();
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t physical_mem_destroy(ze_context_handle_t handle, ze_physical_mem_handle_t memory) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  return destroy_handle(memory, Kind::kPhysicalMemory);
}

ze_result_t virtual_mem_map(ze_context_handle_t handle, const void* address, std::size_t size,
                            ze_physical_mem_handle_t memory_handle, std::size_t offset,
                            ze_memory_access_attribute_t access) try {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  Ref<PhysicalMemory> memory;
  if (const ze_result_t result = acquire(memory_handle, &memory)) return result;
  if (const ze_result_t result = start(handle, address, size, &context)) return result;
  if (!is_access(access)) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (&memory->context() != context.get())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the physical memory is another context's");
  if (offset % kPageSize != 0) return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "offsets are those of pages");
  if (offset > memory->size() || size > memory->size() - offset)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range ends behind the physical memory");
  auto reservation = Reservations::all().find(context.get(), address, size);
  if (!reservation) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range is not reserved in this context");
  if (memory_table().overlaps(context.get(), address, size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory is mapped in the range already");
  Allocation::Description description;
  description.device = memory->device();
  if (description.device) description.type = ZE_MEMORY_TYPE_DEVICE;
  std::shared_ptr<Allocation> mapping;
  const ze_result_t result = Allocation::map_range(description, std::move(reservation), const_cast<void*>(address),
                                                   size, memory->fd(), offset, access, &mapping);
  if (result != ZE_RESULT_SUCCESS) return fail(result, std::strerror(errno));
  if (!memory_table().insert(context.get(), std::move(mapping)))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range overlaps an allocation");
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t virtual_mem_unmap(ze_context_handle_t handle, const void* address, std::size_t size) try {
  Ref<Context> context;
  if (const ze_result_t result = start(handle, address, size, &context)) return result;
  const auto mapping = mapping_at(*context, address, size);
  if (!mapping) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  return while_unused(context->driver(), *mapping, [&] {
    if (memory_table().find(context.get(), address) != mapping) return ZE_RESULT_ERROR_INVALID_ARGUMENT;  // Meanwhile.
    mapping->unmap();
    memory_table().remove(context.get(), address);
    return ZE_RESULT_SUCCESS;
  });
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t virtual_mem_set_access(ze_context_handle_t handle, const void* address, std::size_t size,
                                   ze_memory_access_attribute_t access) try {
  Ref<Context> context;
  if (const ze_result_t result = start(handle, address, size, &context)) return result;
  if (!is_access(access)) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  const auto mapping = mapping_at(*context, address, size);
  if (!mapping) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  // Commands check the access as they begin: one that runs would end the process.
  return while_unused(context->driver(), *mapping, [&] {
    if (memory_table().find(context.get(), address) != mapping) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return mapping->set_access(access) ? ZE_RESULT_SUCCESS : fail(ZE_RESULT_ERROR_UNKNOWN, std::strerror(errno));
  });
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t virtual_mem_get_access(ze_context_handle_t handle, const void* address, std::size_t size,
                                   ze_memory_access_attribute_t* access, std::size_t* shared_size) {
  Ref<Context> context;
  if (const ze_result_t result = start(handle, address, size, &context)) return result;
  if (!access || !shared_size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (const auto mapping = memory_table().find(context.get(), address); mapping && mapping->is_mapping()) {
    *access = mapping->access();
    *shared_size = mapping->size() - static_cast<std::size_t>(static_cast<const std::byte*>(address) - mapping->data());
    return ZE_RESULT_SUCCESS;
  }
  if (!Reservations::all().find(context.get(), address, size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range is not reserved in this context");
  *access = ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
  *shared_size = size;
  return ZE_RESULT_SUCCESS;
}

}  // namespace tenon::npu::calls
