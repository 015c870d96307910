// SPDX-License-Identifier: Apache-2.0
// The calls of system management (zes), of metrics (zet), and hardware's private ones (zex): see calls.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <level_zero/zes_api.h>
#include <level_zero/zet_api.h>

#include <tenon/drivers/npu/calls/calls.hpp>  // IWYU pragma: export
#include <tenon/drivers/npu/objects/device.hpp>

namespace tenon::npu {

/// The one object of type T that belongs to `owner`, which lives as long as the process; made at the first call.
/// Null without memory.
template <class T, class Owner>
T* only_object_of(Owner& owner) noexcept try {
  static std::mutex mutex;
  static auto& made = *new std::map<Owner*, T*>;  // Never freed: clients call from their own destructors.
  const std::lock_guard lock(mutex);
  T*& object = made[&owner];
  if (!object) object = make_object<T>(owner);
  return object;
} catch (...) {
  return nullptr;
}

namespace calls {

// sysman_calls.cpp
ze_result_t sysman_init(std::uint32_t flags);
ze_result_t sysman_driver_get(std::uint32_t* count, zes_driver_handle_t* drivers);
ze_result_t sysman_device_get(zes_driver_handle_t driver, std::uint32_t* count, zes_device_handle_t* devices);
ze_result_t sysman_device_get_properties(zes_device_handle_t device, zes_device_properties_t* properties);
ze_result_t sysman_device_get_state(zes_device_handle_t device, zes_device_state_t* state);
ze_result_t sysman_device_processes_get_state(zes_device_handle_t device, std::uint32_t* count,
                                              zes_process_state_t* processes);
ze_result_t sysman_device_pci_get_properties(zes_device_handle_t device, zes_pci_properties_t* properties);
ze_result_t sysman_enum_engines(zes_device_handle_t device, std::uint32_t* count, zes_engine_handle_t* engines);
ze_result_t sysman_enum_frequencies(zes_device_handle_t device, std::uint32_t* count, zes_freq_handle_t* domains);
ze_result_t sysman_enum_memories(zes_device_handle_t device, std::uint32_t* count, zes_mem_handle_t* modules);
ze_result_t sysman_enum_powers(zes_device_handle_t device, std::uint32_t* count, zes_pwr_handle_t* domains);
/// For kinds of parts of which an NPU has none: fans, sensors and the like.
ze_result_t sysman_enum_nothing(zes_device_handle_t device, std::uint32_t* count, void* parts);
ze_result_t engine_get_properties(zes_engine_handle_t engine, zes_engine_properties_t* properties);
ze_result_t engine_get_activity(zes_engine_handle_t engine, zes_engine_stats_t* stats);
ze_result_t frequency_get_properties(zes_freq_handle_t domain, zes_freq_properties_t* properties);
ze_result_t frequency_get_available_clocks(zes_freq_handle_t domain, std::uint32_t* count, double* clocks);
ze_result_t frequency_get_range(zes_freq_handle_t domain, zes_freq_range_t* range);
ze_result_t frequency_get_state(zes_freq_handle_t domain, zes_freq_state_t* state);
ze_result_t memory_get_properties(zes_mem_handle_t module, zes_mem_properties_t* properties);
ze_result_t memory_get_state(zes_mem_handle_t module, zes_mem_state_t* state);
ze_result_t power_get_properties(zes_pwr_handle_t domain, zes_power_properties_t* properties);
ze_result_t power_get_energy_counter(zes_pwr_handle_t domain, zes_power_energy_counter_t* energy);

// metric_calls.cpp
ze_result_t metric_group_get(zet_device_handle_t device, std::uint32_t* count, zet_metric_group_handle_t* groups);
ze_result_t metric_group_get_properties(zet_metric_group_handle_t group, zet_metric_group_properties_t* properties);
ze_result_t metric_group_calculate(zet_metric_group_handle_t group, zet_metric_group_calculation_type_t type,
                                   std::size_t size, const std::uint8_t* data, std::uint32_t* count,
                                   zet_typed_value_t* values);
ze_result_t metric_get(zet_metric_group_handle_t group, std::uint32_t* count, zet_metric_handle_t* metrics);
ze_result_t metric_get_properties(zet_metric_handle_t metric, zet_metric_properties_t* properties);
ze_result_t context_activate_metric_groups(zet_context_handle_t context, zet_device_handle_t device,
                                           std::uint32_t count, zet_metric_group_handle_t* groups);
ze_result_t metric_pool_create(zet_context_handle_t context, zet_device_handle_t device,
                               zet_metric_group_handle_t group, const zet_metric_query_pool_desc_t* descriptor,
                               zet_metric_query_pool_handle_t* pool);
ze_result_t metric_pool_destroy(zet_metric_query_pool_handle_t pool);
ze_result_t metric_query_create(zet_metric_query_pool_handle_t pool, std::uint32_t index,
                                zet_metric_query_handle_t* query);
ze_result_t metric_query_destroy(zet_metric_query_handle_t query);
ze_result_t metric_query_reset(zet_metric_query_handle_t query);
ze_result_t metric_query_get_data(zet_metric_query_handle_t query, std::size_t* size, std::uint8_t* data);
ze_result_t append_metric_query_begin(zet_command_list_handle_t list, zet_metric_query_handle_t query);
ze_result_t append_metric_query_end(zet_command_list_handle_t list, zet_metric_query_handle_t query,
                                    ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t append_metric_memory_barrier(zet_command_list_handle_t list);
ze_result_t metric_streamer_open(zet_context_handle_t context, zet_device_handle_t device,
                                 zet_metric_group_handle_t group, zet_metric_streamer_desc_t* descriptor,
                                 ze_event_handle_t event, zet_metric_streamer_handle_t* streamer);
ze_result_t metric_streamer_close(zet_metric_streamer_handle_t streamer);
ze_result_t metric_streamer_read(zet_metric_streamer_handle_t streamer, std::uint32_t max_reports, std::size_t* size,
                                 std::uint8_t* data);

// private_calls.cpp: what hardware's driver offers to its own tests, by name only.
ze_result_t disk_cache_set_size(std::size_t size);
ze_result_t disk_cache_get_size(std::size_t* size);
/// @param length  In: bytes of `path`; out: the length of the text, without its terminating zero.
ze_result_t disk_cache_get_directory(char* path, std::size_t* length);
ze_result_t context_set_idle_pruning_timeout(ze_context_handle_t context, std::uint64_t timeout_ms);

}  // namespace calls
}  // namespace tenon::npu
