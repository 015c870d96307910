// SPDX-License-Identifier: Apache-2.0
// The calls that this driver implements, named as in the specification without prefix; tables.cpp lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <level_zero/ze_api.h>

#include <tenon/drivers/npu/objects/result.hpp>  // IWYU pragma: export
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>
#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>
#include <tenon/frameworks/level_zero/abi/event.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>
#include <tenon/frameworks/level_zero/abi/system_memory.hpp>

namespace tenon::npu {

class Device;

/// What zeDeviceGetProperties and zesDeviceGetProperties call the device.
std::string device_name(const Device& device);

namespace calls {

// driver_calls.cpp
ze_result_t init(ze_init_flags_t flags);
ze_result_t init_drivers(std::uint32_t* count, ze_driver_handle_t* drivers, abi::InitDriverTypeDescriptor* descriptor);
ze_result_t driver_get(std::uint32_t* count, ze_driver_handle_t* drivers);
ze_result_t driver_get_api_version(ze_driver_handle_t driver, ze_api_version_t* version);
ze_result_t driver_get_properties(ze_driver_handle_t driver, ze_driver_properties_t* properties);
ze_result_t driver_get_ipc_properties(ze_driver_handle_t driver, ze_driver_ipc_properties_t* properties);
ze_result_t driver_get_extension_properties(ze_driver_handle_t driver, std::uint32_t* count,
                                            ze_driver_extension_properties_t* properties);
ze_result_t driver_get_extension_function_address(ze_driver_handle_t driver, const char* name, void** address);
ze_result_t driver_get_last_error_description(ze_driver_handle_t driver, const char** text);

// device_calls.cpp
ze_result_t device_get(ze_driver_handle_t driver, std::uint32_t* count, ze_device_handle_t* devices);
ze_result_t device_get_sub_devices(ze_device_handle_t device, std::uint32_t* count, ze_device_handle_t* devices);
ze_result_t device_get_properties(ze_device_handle_t device, ze_device_properties_t* properties);
ze_result_t device_get_compute_properties(ze_device_handle_t device, ze_device_compute_properties_t* properties);
ze_result_t device_get_module_properties(ze_device_handle_t device, ze_device_module_properties_t* properties);
ze_result_t device_get_command_queue_group_properties(ze_device_handle_t device, std::uint32_t* count,
                                                      ze_command_queue_group_properties_t* properties);
ze_result_t device_get_memory_properties(ze_device_handle_t device, std::uint32_t* count,
                                         ze_device_memory_properties_t* properties);
ze_result_t device_get_memory_access_properties(ze_device_handle_t device,
                                                ze_device_memory_access_properties_t* properties);
ze_result_t device_get_cache_properties(ze_device_handle_t device, std::uint32_t* count,
                                        ze_device_cache_properties_t* properties);
ze_result_t device_get_image_properties(ze_device_handle_t device, ze_device_image_properties_t* properties);
ze_result_t device_get_external_memory_properties(ze_device_handle_t device,
                                                  ze_device_external_memory_properties_t* properties);
ze_result_t device_get_p2p_properties(ze_device_handle_t device, ze_device_handle_t peer,
                                      ze_device_p2p_properties_t* properties);
ze_result_t device_can_access_peer(ze_device_handle_t device, ze_device_handle_t peer, ze_bool_t* can);
ze_result_t device_get_status(ze_device_handle_t device);
ze_result_t device_get_global_timestamps(ze_device_handle_t device, std::uint64_t* host, std::uint64_t* timestamp);
ze_result_t device_pci_get_properties(ze_device_handle_t device, ze_pci_ext_properties_t* properties);
ze_result_t device_get_root_device(ze_device_handle_t device, ze_device_handle_t* root);

// context_calls.cpp
ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t* descriptor,
                           ze_context_handle_t* context);
ze_result_t context_create_ex(ze_driver_handle_t driver, const ze_context_desc_t* descriptor, std::uint32_t count,
                              ze_device_handle_t* devices, ze_context_handle_t* context);
ze_result_t context_destroy(ze_context_handle_t context);
ze_result_t context_get_status(ze_context_handle_t context);
ze_result_t context_system_barrier(ze_context_handle_t context, ze_device_handle_t device);
ze_result_t context_make_memory_resident(ze_context_handle_t context, ze_device_handle_t device, void* data,
                                         std::size_t size);
ze_result_t context_evict_memory(ze_context_handle_t context, ze_device_handle_t device, void* data, std::size_t size);
ze_result_t context_set_properties(ze_context_handle_t context, abi::ContextNpuProperties* properties);
ze_result_t context_release_memory(ze_context_handle_t context);

// memory_calls.cpp
ze_result_t mem_alloc_shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* device_descriptor,
                             const ze_host_mem_alloc_desc_t* host_descriptor, std::size_t size, std::size_t alignment,
                             ze_device_handle_t device, void** data);
ze_result_t mem_alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t* descriptor,
                             std::size_t size, std::size_t alignment, ze_device_handle_t device, void** data);
ze_result_t mem_alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t* descriptor, std::size_t size,
                           std::size_t alignment, void** data);
ze_result_t mem_free(ze_context_handle_t context, void* data);
ze_result_t mem_free_ext(ze_context_handle_t context, const ze_memory_free_ext_desc_t* descriptor, void* data);
ze_result_t mem_get_alloc_properties(ze_context_handle_t context, const void* data,
                                     ze_memory_allocation_properties_t* properties, ze_device_handle_t* device);
ze_result_t mem_get_address_range(ze_context_handle_t context, const void* data, void** base, std::size_t* size);

// ipc_calls.cpp
ze_result_t mem_get_ipc_handle(ze_context_handle_t context, const void* data, ze_ipc_mem_handle_t* handle);
ze_result_t mem_open_ipc_handle(ze_context_handle_t context, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                                ze_ipc_memory_flags_t flags, void** data);
ze_result_t mem_close_ipc_handle(ze_context_handle_t context, const void* data);
ze_result_t mem_put_ipc_handle(ze_context_handle_t context, ze_ipc_mem_handle_t handle);
ze_result_t mem_get_ipc_handle_from_fd(ze_context_handle_t context, std::uint64_t fd, ze_ipc_mem_handle_t* handle);
/// @param fd  A new descriptor, the caller's.
ze_result_t mem_get_fd_from_ipc_handle(ze_context_handle_t context, ze_ipc_mem_handle_t handle, std::uint64_t* fd);

// virtual_calls.cpp
ze_result_t virtual_mem_reserve(ze_context_handle_t context, const void* start, std::size_t size, void** address);
ze_result_t virtual_mem_free(ze_context_handle_t context, const void* address, std::size_t size);
ze_result_t virtual_mem_query_page_size(ze_context_handle_t context, ze_device_handle_t device, std::size_t size,
                                        std::size_t* page_size);
ze_result_t physical_mem_create(ze_context_handle_t context, ze_device_handle_t device,
                                ze_physical_mem_desc_t* descriptor, ze_physical_mem_handle_t* memory);
ze_result_t physical_mem_destroy(ze_context_handle_t context, ze_physical_mem_handle_t memory);
ze_result_t virtual_mem_map(ze_context_handle_t context, const void* address, std::size_t size,
                            ze_physical_mem_handle_t memory, std::size_t offset, ze_memory_access_attribute_t access);
ze_result_t virtual_mem_unmap(ze_context_handle_t context, const void* address, std::size_t size);
ze_result_t virtual_mem_set_access(ze_context_handle_t context, const void* address, std::size_t size,
                                   ze_memory_access_attribute_t access);
ze_result_t virtual_mem_get_access(ze_context_handle_t context, const void* address, std::size_t size,
                                   ze_memory_access_attribute_t* access, std::size_t* shared_size);

}  // namespace calls
}  // namespace tenon::npu
