// SPDX-License-Identifier: Apache-2.0
// zeContext* and the context extension.
#include <malloc.h>

#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/objects/device.hpp>

namespace tenon::npu::calls {
namespace {

/// For calls about a context's memory on a device.
ze_result_t check_range(ze_context_handle_t context_handle, ze_device_handle_t device_handle, const void* data,
                        std::size_t size) {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (size == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if (!memory_at(*context, data, size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range is not in memory of this context");
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t context_create(ze_driver_handle_t handle, const ze_context_desc_t* descriptor,
                           ze_context_handle_t* context) {
  return context_create_ex(handle, descriptor, 0, nullptr, context);
}

ze_result_t context_create_ex(ze_driver_handle_t handle, const ze_context_desc_t* descriptor, std::uint32_t count,
                              ze_device_handle_t* devices, ze_context_handle_t* context) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  if (!descriptor || !context) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  constexpr ze_context_flags_t kKnown = ZE_CONTEXT_FLAG_TBD;
  if (descriptor->flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (count != 0 && !devices) return ZE_RESULT_ERROR_INVALID_SIZE;
  for (std::uint32_t i = 0; i < count; ++i) {
    Ref<Device> device;
    if (const ze_result_t result = acquire(devices[i], &device)) return result;
  }
  const Context* made = make_object<Context>(*driver);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *context = made->handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_destroy(ze_context_handle_t handle) { return destroy_handle(handle, Kind::kContext); }

ze_result_t context_get_status(ze_context_handle_t handle) {
  Ref<Context> context;
  return acquire(handle, &context);
}

ze_result_t context_system_barrier(ze_context_handle_t handle, ze_device_handle_t device_handle) {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  return acquire(device_handle, &device);  // Host and device share one memory.
}

ze_result_t context_make_memory_resident(ze_context_handle_t context, ze_device_handle_t device, void* data,
                                         std::size_t size) {
  return check_range(context, device, data, size);
}

ze_result_t context_evict_memory(ze_context_handle_t context, ze_device_handle_t device, void* data, std::size_t size) {
  return check_range(context, device, data, size);
}

ze_result_t context_set_properties(ze_context_handle_t handle, abi::ContextNpuProperties* properties) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (properties->options & ~std::uint32_t{abi::kContextIdleOptimizations}) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  context->options.store(properties->options);
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_release_memory(ze_context_handle_t handle) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  context->prune();
  ::malloc_trim(0);  // Returns the freed memory that the C library keeps.
  return ZE_RESULT_SUCCESS;
}

}  // namespace tenon::npu::calls
