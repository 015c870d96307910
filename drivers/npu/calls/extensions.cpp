// SPDX-License-Identifier: Apache-2.0
// Extensions by name, and the tables of the driver's own extensions.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/calls/queue_calls.hpp>
#include <tenon/drivers/npu/calls/tools_calls.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/objects/words.hpp>
#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/frameworks/level_zero/abi/graph.hpp>
#include <tenon/frameworks/level_zero/abi/memory.hpp>
#include <tenon/frameworks/level_zero/abi/profiling.hpp>

namespace tenon::npu {
namespace {

struct Extension {
  const char* name;
  std::uint32_t version;
  std::string_view short_name;
  std::uint32_t since;  ///< Loader version; older ones have no entries for its calls.
};

std::span<const Extension> extensions() {
  static const Extension all[] = {
      {abi::kGraphExtension, graph_extension_version(), "graph", 0},
      {abi::kProfilingExtension, abi::kProfilingVersion, "profiling", 0},
      {abi::kCommandQueueNpuExtension, abi::kCommandQueueNpuVersion, "command_queue", 0},
      {abi::kContextNpuExtension, abi::kContextNpuVersion, "context", 0},
      {abi::kDriverNpuExtension, abi::kDriverNpuVersion, "driver", 0},
      {abi::kMutableListExtension, abi::kMutableListVersion, "mutable", abi::version(1, 9)},
      {abi::kSystemMemoryExtension, abi::kSystemMemoryVersion, "sysmem", 0},
      {abi::kEventTimestampsExtension, abi::version(1, 0), "timestamps", abi::version(1, 6)},
      {abi::kDriverHandlesExtension, abi::version(1, 0), "ddi", 0},
      {abi::kInputStageExtension, abi::version(1, 0), "input_stage", 0},
      {abi::kCancelExtension, abi::kCancelVersion, "cancel", 0},
      {abi::kImplicitFencesExtension, abi::version(1, 0), "fences", 0},
  };
  return all;
}

bool is_available(const Extension& extension) {
  return is_offered(extension.short_name) && loader_version() >= extension.since;
}

ze_result_t get_extension(ze_driver_handle_t driver, abi::DriverNpuExtension* extension) {
  if (!extension) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return calls::driver_get_extension_function_address(driver, extension->name, extension->table);
}

/// Calls newer than Debian 12's loader, for clients that use it, and those that have no table.
std::span<const TableEntry> calls_by_name() {
  static const TableEntry entries[] = {
      entry<"zeInitDrivers", calls::init_drivers>(0),
      entry<"zeDriverGetLastErrorDescription", calls::driver_get_last_error_description>(0),
      entry<"zeCommandListHostSynchronize", calls::list_host_synchronize>(0),
      entry<"zeCommandListGetNextCommandIdExp", calls::list_get_next_command_id>(0),
      entry<"zeCommandListUpdateMutableCommandsExp", calls::list_update_mutable_commands>(0),
      entry<"zeCommandListUpdateMutableCommandSignalEventExp", calls::list_update_mutable_signal_event>(0),
      entry<"zeCommandListUpdateMutableCommandWaitEventsExp", calls::list_update_mutable_wait_events>(0),
      entry<"zeCommandListImmediateAppendCommandListsExp", calls::list_append_lists>(0),
      entry<"zeEventQueryKernelTimestampsExt", calls::event_query_kernel_timestamps_ext>(0),
      entry<"zeEventGetEventPool", calls::event_get_pool>(0),
      entry<"zeEventPoolGetContextHandle", calls::event_pool_get_context>(0),
      entry<"zexDiskCacheSetSize", calls::disk_cache_set_size>(0),
      entry<"zexDiskCacheGetSize", calls::disk_cache_get_size>(0),
      entry<"zexDiskCacheGetDirectory", calls::disk_cache_get_directory>(0),
      entry<"zexContextSetIdlePruningTimeout", calls::context_set_idle_pruning_timeout>(0),
  };
  return entries;
}

/// The short name of the extension that has the call; empty if none.
std::string_view extension_of(std::string_view call) {
  if (call.find("MutableCommand") != call.npos || call.find("NextCommandId") != call.npos) return "mutable";
  return call == "zeEventQueryKernelTimestampsExt" ? "timestamps" : "";
}

/// Calls of the extensions whose tables are defined here.
std::span<const TableEntry> calls_of_extensions() {
  static const TableEntry entries[] = {
      entry<"pfnSetWorkloadType", calls::queue_set_workload_type>(0),
      entry<"pfnSetProperties", calls::context_set_properties>(0),
      entry<"pfnReleaseMemory", calls::context_release_memory>(0),
      entry<"pfnGetExtension", get_extension>(0),
      entry<"pfnCancel", calls::list_cancel>(0),
  };
  return entries;
}

/// The table whose first call has this name.
template <typename Table>
Table* table_from(std::string_view first) {
  static Table table = [first] {
    const auto all = calls_of_extensions();
    auto call = std::ranges::find(all, first, [](const TableEntry& each) { return std::string_view(each.name); });
    std::array<const void*, sizeof(Table) / sizeof(void*)> places{};
    for (const void*& place : places) place = (call++)->call;
    return std::bit_cast<Table>(places);
  }();
  return &table;
}

}  // namespace

void report_unknown_settings() {
  const char* const without = std::getenv("TENON_NPU_WITHOUT");
  visit_words(without ? without : "", [](std::string_view word) {
    const auto all = extensions();
    if (std::any_of(all.begin(), all.end(), [word](const Extension& each) { return each.short_name == word; })) return;
    std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_WITHOUT: '%.*s' is none of", static_cast<int>(word.size()),
                 word.data());
    for (const Extension& each : all) std::fprintf(stderr, " %s", each.short_name.data());
    std::fputs("\n", stderr);
  });
  if (!is_instrumented()) return;
  auto tables = named_tables();
  const auto tools = named_tool_tables();
  tables.insert(tables.end(), tools.begin(), tools.end());
  tables.insert(tables.end(), {calls_by_name(), calls_of_extensions(), named_graph_calls(), named_profiling_calls()});
  start_instruments(tables);
}

void* extension_function(const char* name) noexcept {
  for (const Extension& extension : extensions()) {
    // Clients append versions to names: "ZE_extension_graph_1_8".
    if (std::strncmp(name, extension.name, std::strlen(extension.name)) != 0) continue;
    if (!is_available(extension)) return nullptr;
    if (extension.short_name == "command_queue") return table_from<abi::CommandQueueNpuTable>("pfnSetWorkloadType");
    if (extension.short_name == "context") return table_from<abi::ContextNpuTable>("pfnSetProperties");
    if (extension.short_name == "driver") return table_from<abi::DriverNpuTable>("pfnGetExtension");
    if (extension.short_name == "cancel") return table_from<abi::CancelTable>("pfnCancel");
    return graph_extension_table(name);
  }
  for (const TableEntry& call : calls_by_name())
    if (std::string_view(call.name) == name) {
      const std::string_view owner = extension_of(name);
      return owner.empty() || is_offered(owner) ? const_cast<void*>(call.call) : nullptr;
    }
  return nullptr;
}

namespace calls {

ze_result_t driver_get_extension_properties(ze_driver_handle_t handle, std::uint32_t* count,
                                            ze_driver_extension_properties_t* properties) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  std::array<const Extension*, 16> available{};
  std::size_t number = 0;
  for (const Extension& extension : extensions())
    if (is_available(extension)) available[number++] = &extension;
  return enumerate(count, properties, number, [&](std::uint32_t i, ze_driver_extension_properties_t& entry) {
    std::memset(entry.name, 0, sizeof entry.name);
    std::strncpy(entry.name, available[i]->name, sizeof entry.name - 1);
    entry.version = available[i]->version;
  });
}

}  // namespace calls
}  // namespace tenon::npu
