// SPDX-License-Identifier: Apache-2.0
// The graph extension's table, and the calls without a file of their own.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/run/command_list.hpp>
#include <tenon/drivers/npu/run/graph.hpp>
#include <tenon/drivers/npu/run/profiling.hpp>

namespace tenon::npu {
namespace {

ze_result_t destroy(abi::GraphHandle handle) { return destroy_handle(handle, Kind::kGraph); }

ze_result_t set_argument_value(abi::GraphHandle handle, std::uint32_t index, const void* data) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    return graph->object->set_argument(index, {const_cast<void*>(data), {}});
  });
}

/// Reads a chain of the argument's address and its strides, in any order.
ze_result_t set_argument_value_2(abi::GraphHandle handle, std::uint32_t index, const void* chain) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    if (!chain) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ArgumentValue value;
    const ze_result_t visited = visit_chain(chain, [&](std::uint32_t stype, const abi::ChainLink* link) {
      if (stype == static_cast<std::uint32_t>(abi::GraphStructure::kArgumentTensor))
        value.data = const_cast<void*>(reinterpret_cast<const abi::ArgumentTensor*>(link)->data);
      else if (stype == static_cast<std::uint32_t>(abi::GraphStructure::kArgumentStrides))
        value.element_strides = reinterpret_cast<const abi::ArgumentStrides*>(link)->strides;
      else
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "an argument's value is neither an address nor strides");
      return ZE_RESULT_SUCCESS;
    });
    return visited ? visited : graph->object->set_argument(index, value);
  });
}

ze_result_t graph_initialize(abi::GraphHandle handle) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    return graph->object->initialize();
  });
}

ze_result_t evict(abi::GraphHandle handle) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    return graph->object->evict();
  });
}

/// A null graph is an uninitialised one to the calls that append it, as to hardware's driver.
ze_result_t acquire_appended(abi::GraphHandle handle, Ref<Graph>* graph) {
  if (!handle) return fail(ZE_RESULT_ERROR_UNINITIALIZED, "the graph is null");
  return acquire(handle, graph);
}

ze_result_t append_initialize(ze_command_list_handle_t list, abi::GraphHandle handle, ze_event_handle_t signal,
                              std::uint32_t wait_count, ze_event_handle_t* waits) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire_appended(handle, &graph)) return or_refuse(signal, result);
    return append_graph_initialize(list, graph->object, signal, wait_count, waits);
  });
}

ze_result_t append_execute(ze_command_list_handle_t list, abi::GraphHandle handle, abi::ProfilingQueryHandle profiling,
                           ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire_appended(handle, &graph)) return or_refuse(signal, result);
    std::shared_ptr<ProfilingQuery> query;
    if (profiling) {
      Ref<ProfilingQueryObject> object;
      if (const ze_result_t result = acquire(profiling, &object)) return or_refuse(signal, result);
      query = object->query;
    }
    return append_graph_execute(list, graph->object, std::move(query), signal, wait_count, waits);
  });
}

ze_result_t get_native_binary(abi::GraphHandle handle, std::size_t* size, std::uint8_t* binary) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    const Tensor& bytes = graph->object->program().bytes();
    return give_bytes(std::string_view(static_cast<const char*>(bytes.data()), bytes.size_bytes()), size, binary);
  });
}

ze_result_t get_native_binary_2(abi::GraphHandle handle, std::size_t* size, const std::uint8_t** binary) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    if (!size || !binary) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const Tensor& bytes = graph->object->program().bytes();
    *size = bytes.size_bytes();
    *binary = static_cast<const std::uint8_t*>(bytes.data());
    return ZE_RESULT_SUCCESS;
  });
}

abi::GraphTable make_table(std::uint32_t version) {
  std::array<const void*, sizeof(abi::GraphTable) / sizeof(void*)> places{};
  std::ranges::transform(named_graph_calls(), places.begin(), &TableEntry::call);
  auto table = std::bit_cast<abi::GraphTable>(places);
  // An older version is shorter: beyond its end a client must find nothing.
  const std::size_t size = abi::graph_entries(version) * sizeof(void*);
  std::memset(reinterpret_cast<char*>(&table) + size, 0, sizeof table - size);
  return table;
}

}  // namespace

/// In the order of abi::GraphTable, with the published header's names.
std::span<const TableEntry> named_graph_calls() {
  namespace calls = graph_calls;
  static const TableEntry entries[] = {entry<"pfnCreate", calls::create>(0),
                                       entry<"pfnDestroy", destroy>(0),
                                       entry<"pfnGetProperties", calls::get_properties>(0),
                                       entry<"pfnGetArgumentProperties", calls::get_argument_properties>(0),
                                       entry<"pfnSetArgumentValue", set_argument_value>(0),
                                       entry<"pfnAppendGraphInitialize", append_initialize>(0),
                                       entry<"pfnAppendGraphExecute", append_execute>(0),
                                       entry<"pfnGetNativeBinary", get_native_binary>(0),
                                       entry<"pfnDeviceGetGraphProperties", calls::device_get_graph_properties>(0),
                                       entry<"pfnGraphGetArgumentMetadata", calls::get_argument_metadata>(0),
                                       entry<"pfnGetArgumentProperties2", calls::get_argument_properties_2>(0),
                                       entry<"pfnGetArgumentProperties3", calls::get_argument_properties_3>(0),
                                       entry<"pfnQueryNetworkCreate", calls::query_create>(0),
                                       entry<"pfnQueryNetworkDestroy", calls::query_destroy>(0),
                                       entry<"pfnQueryNetworkGetSupportedLayers", calls::query_layers>(0),
                                       entry<"pfnBuildLogGetString", calls::build_log_get_string>(0),
                                       entry<"pfnCreate2", calls::create_2>(0),
                                       entry<"pfnQueryNetworkCreate2", calls::query_create_2>(0),
                                       entry<"pfnQueryContextMemory", calls::query_context_memory>(0),
                                       entry<"pfnDeviceGetGraphProperties2", calls::device_get_graph_properties_2>(0),
                                       entry<"pfnGetNativeBinary2", get_native_binary_2>(0),
                                       entry<"pfnGetProperties2", calls::get_properties_2>(0),
                                       entry<"pfnGraphInitialize", graph_initialize>(0),
                                       entry<"pfnCompilerGetSupportedOptions", calls::get_supported_options>(0),
                                       entry<"pfnCompilerIsOptionSupported", calls::is_option_supported>(0),
                                       entry<"pfnCreate3", calls::create_3>(0),
                                       entry<"pfnGetProperties3", calls::get_properties_3>(0),
                                       entry<"pfnBuildLogGetString2", calls::build_log_get_string_2>(0),
                                       entry<"pfnBuildLogDestroy", calls::build_log_destroy>(0),
                                       entry<"pfnSetArgumentValue2", set_argument_value_2>(0),
                                       entry<"pfnEvict", evict>(0)};
  static_assert(std::size(entries) * sizeof(void*) == sizeof(abi::GraphTable));
  return entries;
}

void* graph_extension_table(const char* name) noexcept {
  const auto begins_with = [name](const char* extension) {
    return std::strncmp(name, extension, std::strlen(extension)) == 0;
  };
  if (begins_with(abi::kProfilingExtension)) return profiling_table();
  if (!begins_with(abi::kGraphExtension)) return nullptr;
  static abi::GraphTable table = make_table(graph_extension_version());
  return &table;
}

}  // namespace tenon::npu
