// SPDX-License-Identifier: Apache-2.0
// The calls of the graph extension: one table, in the order in which versions appended to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/graph.hpp>
#include <tenon/frameworks/level_zero/abi/profiling.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

/// Returned by zeDriverGetExtensionFunctionAddress for kGraphExtension, or for "ZE_extension_graph_1_N" in old drivers.
/// A driver of version 1.N has the entries up to 1.N and no memory after them: check graph_entries() before reading.
/// Texts and blobs take two calls: the first, with a null buffer, gives the size, which includes a text's final zero.
struct GraphTable {
  // 1.0
  ze_result_t(ZE_APICALL* create)(ze_context_handle_t, ze_device_handle_t, const GraphDescriptor*, GraphHandle*);
  ze_result_t(ZE_APICALL* destroy)(GraphHandle);
  ze_result_t(ZE_APICALL* get_properties)(GraphHandle, GraphProperties*);
  ze_result_t(ZE_APICALL* get_argument_properties)(GraphHandle, std::uint32_t index, ArgumentProperties*);
  ze_result_t(ZE_APICALL* set_argument_value)(GraphHandle, std::uint32_t index, const void* data);
  ze_result_t(ZE_APICALL* append_graph_initialize)(ze_command_list_handle_t, GraphHandle, ze_event_handle_t signal,
                                                   std::uint32_t wait_count, ze_event_handle_t* waits);
  ze_result_t(ZE_APICALL* append_graph_execute)(ze_command_list_handle_t, GraphHandle, ProfilingQueryHandle,
                                                ze_event_handle_t signal, std::uint32_t wait_count,
                                                ze_event_handle_t* waits);
  ze_result_t(ZE_APICALL* get_native_binary)(GraphHandle, std::size_t* size, std::uint8_t* binary);
  ze_result_t(ZE_APICALL* device_get_graph_properties)(ze_device_handle_t, DeviceGraphProperties*);
  // 1.1
  ze_result_t(ZE_APICALL* get_argument_metadata)(GraphHandle, std::uint32_t index, ArgumentMetadata*);
  ze_result_t(ZE_APICALL* get_argument_properties_2)(GraphHandle, std::uint32_t index, ArgumentProperties2*);
  // 1.2
  ze_result_t(ZE_APICALL* get_argument_properties_3)(GraphHandle, std::uint32_t index, ArgumentProperties3*);
  // 1.3
  ze_result_t(ZE_APICALL* query_network_create)(ze_context_handle_t, ze_device_handle_t, const GraphDescriptor*,
                                                GraphQueryHandle*);
  ze_result_t(ZE_APICALL* query_network_destroy)(GraphQueryHandle);
  ze_result_t(ZE_APICALL* query_network_get_supported_layers)(GraphQueryHandle, std::size_t* size, char* layers);
  // 1.4. A null handle means the last graph that could not be created.
  ze_result_t(ZE_APICALL* build_log_get_string)(GraphHandle, std::uint32_t* size, char* log);
  // 1.5
  ze_result_t(ZE_APICALL* create_2)(ze_context_handle_t, ze_device_handle_t, const GraphDescriptor2*, GraphHandle*);
  ze_result_t(ZE_APICALL* query_network_create_2)(ze_context_handle_t, ze_device_handle_t, const GraphDescriptor2*,
                                                  GraphQueryHandle*);
  ze_result_t(ZE_APICALL* query_context_memory)(ze_context_handle_t, MemoryQueryType, MemoryQuery*);
  // 1.6
  ze_result_t(ZE_APICALL* device_get_graph_properties_2)(ze_device_handle_t, DeviceGraphProperties2*);
  // 1.7. A view of the driver's memory, valid as long as the graph.
  ze_result_t(ZE_APICALL* get_native_binary_2)(GraphHandle, std::size_t* size, const std::uint8_t** binary);
  // 1.8
  ze_result_t(ZE_APICALL* get_properties_2)(GraphHandle, GraphProperties2*);
  ze_result_t(ZE_APICALL* graph_initialize)(GraphHandle);
  // 1.11. Names separated by spaces.
  ze_result_t(ZE_APICALL* get_supported_options)(ze_device_handle_t, OptionsType, std::size_t* size, char* options);
  ze_result_t(ZE_APICALL* is_option_supported)(ze_device_handle_t, OptionsType, const char* option, const char* value);
  // 1.12
  ze_result_t(ZE_APICALL* create_3)(ze_context_handle_t, ze_device_handle_t, const GraphDescriptor2*, GraphHandle*,
                                    GraphBuildLogHandle*);
  ze_result_t(ZE_APICALL* get_properties_3)(GraphHandle, GraphProperties3*);
  ze_result_t(ZE_APICALL* build_log_get_string_2)(GraphBuildLogHandle, std::uint32_t* size, char* log);
  ze_result_t(ZE_APICALL* build_log_destroy)(GraphBuildLogHandle);
  // 1.15. Takes an ArgumentTensor or ArgumentStrides, or a chain of both.
  ze_result_t(ZE_APICALL* set_argument_value_2)(GraphHandle, std::uint32_t index, const void* value);
  // 1.16. Frees device memory of a graph that is not running; it is allocated again at the next execution.
  ze_result_t(ZE_APICALL* evict)(GraphHandle);
};
static_assert(sizeof(GraphTable) == 31 * sizeof(void*));
static_assert(offsetof(GraphTable, device_get_graph_properties) == 8 * sizeof(void*) &&
              offsetof(GraphTable, get_argument_properties_3) == 11 * sizeof(void*) &&
              offsetof(GraphTable, build_log_get_string) == 15 * sizeof(void*) &&
              offsetof(GraphTable, create_2) == 16 * sizeof(void*) &&
              offsetof(GraphTable, get_native_binary_2) == 20 * sizeof(void*) &&
              offsetof(GraphTable, get_supported_options) == 23 * sizeof(void*) &&
              offsetof(GraphTable, create_3) == 25 * sizeof(void*) &&
              offsetof(GraphTable, evict) == 30 * sizeof(void*));

/// Number of entries of GraphTable in a driver with this version of the extension.
constexpr std::size_t graph_entries(std::uint32_t extension_version) {
  constexpr unsigned char entries[] = {9, 11, 12, 15, 16, 19, 20, 21, 23, 23, 23, 25, 29, 29, 29, 30, 31};
  if (major_of(extension_version) < 1) return 0;
  const std::uint32_t minor = major_of(extension_version) > 1 ? 16 : minor_of(extension_version);
  return entries[minor < 16 ? minor : 16];
}
static_assert(graph_entries(version(1, 0)) == 9 && graph_entries(version(1, 5)) == 19 &&
              graph_entries(version(1, 8)) == 23 && graph_entries(version(1, 15)) == 30 &&
              graph_entries(kGraphVersion) * sizeof(void*) == sizeof(GraphTable));

/// The first version with the entry at this offset of GraphTable. @pre offset < sizeof(GraphTable)
constexpr std::uint32_t graph_entry_version(std::size_t offset) {
  for (std::uint32_t minor = 0;; ++minor)
    if (graph_entries(version(1, minor)) * sizeof(void*) > offset) return version(1, minor);
}
static_assert(graph_entry_version(offsetof(GraphTable, create_2)) == version(1, 5) &&
              graph_entry_version(offsetof(GraphTable, graph_initialize)) == version(1, 8) &&
              graph_entry_version(offsetof(GraphTable, get_supported_options)) == version(1, 11) &&
              graph_entry_version(offsetof(GraphTable, build_log_destroy)) == version(1, 12) &&
              graph_entry_version(offsetof(GraphTable, set_argument_value_2)) == version(1, 15) &&
              graph_entry_version(offsetof(GraphTable, evict)) == version(1, 16));

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
