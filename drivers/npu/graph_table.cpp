// SPDX-License-Identifier: Apache-2.0
// The graph extension's table, and the calls that need no file of their own.
#include <cstring>

#include <tenon/drivers/npu/command_list_internal.hpp>
#include <tenon/drivers/npu/extensions_internal.hpp>
#include <tenon/drivers/npu/graph_internal.hpp>
#include <tenon/drivers/npu/profiling_internal.hpp>

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

/// A chain of the argument's address and its strides, in any order.
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

ze_result_t append_initialize(ze_command_list_handle_t list, abi::GraphHandle handle, ze_event_handle_t signal,
                              std::uint32_t wait_count, ze_event_handle_t* waits) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    return append_graph_initialize(list, graph->object, signal, wait_count, waits);
  });
}

ze_result_t append_execute(ze_command_list_handle_t list, abi::GraphHandle handle, abi::ProfilingQueryHandle profiling,
                           ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    std::shared_ptr<ProfilingQuery> query;
    if (profiling) {
      Ref<ProfilingQueryObject> object;
      if (const ze_result_t result = acquire(profiling, &object)) return result;
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
  namespace calls = graph_calls;
  abi::GraphTable table = {};
  table.create = calls::create;
  table.destroy = destroy;
  table.get_properties = calls::get_properties;
  table.get_argument_properties = calls::get_argument_properties;
  table.set_argument_value = set_argument_value;
  table.append_graph_initialize = append_initialize;
  table.append_graph_execute = append_execute;
  table.get_native_binary = get_native_binary;
  table.device_get_graph_properties = calls::device_get_graph_properties;
  table.get_argument_metadata = calls::get_argument_metadata;
  table.get_argument_properties_2 = calls::get_argument_properties_2;
  table.get_argument_properties_3 = calls::get_argument_properties_3;
  table.query_network_create = calls::query_create;
  table.query_network_destroy = calls::query_destroy;
  table.query_network_get_supported_layers = calls::query_layers;
  table.build_log_get_string = calls::build_log_get_string;
  table.create_2 = calls::create_2;
  table.query_network_create_2 = calls::query_create_2;
  table.query_context_memory = calls::query_context_memory;
  table.device_get_graph_properties_2 = calls::device_get_graph_properties_2;
  table.get_native_binary_2 = get_native_binary_2;
  table.get_properties_2 = calls::get_properties_2;
  table.graph_initialize = graph_initialize;
  table.get_supported_options = calls::get_supported_options;
  table.is_option_supported = calls::is_option_supported;
  table.create_3 = calls::create_3;
  table.get_properties_3 = calls::get_properties_3;
  table.build_log_get_string_2 = calls::build_log_get_string_2;
  table.build_log_destroy = calls::build_log_destroy;
  table.set_argument_value_2 = set_argument_value_2;
  table.evict = evict;
  // An older version ends earlier: a client that reaches behind its end finds nothing there.
  const std::size_t size = abi::graph_entries(version) * sizeof(void*);
  std::memset(reinterpret_cast<char*>(&table) + size, 0, sizeof table - size);
  return table;
}

}  // namespace

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
