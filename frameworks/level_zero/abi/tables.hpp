// SPDX-License-Identifier: Apache-2.0
// What Level Zero 1.5 to 1.17 appended to the tables that drivers fill for the loader.
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_ddi.h>

#include <tenon/frameworks/level_zero/abi/core.hpp>
#include <tenon/frameworks/level_zero/abi/event.hpp>
#include <tenon/frameworks/level_zero/abi/memory.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>
#include <tenon/frameworks/level_zero/abi/semaphore.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

/// An entry that we do not use; it only keeps its place.
using Entry = void (*)();

/// The loader passes its version and owns a table of that version's size. Entries of 1.4 are written through the
/// packaged struct, whose first `Entries` pointers are in every version. Later entries follow them, in one of the
/// structs below, and may be touched only up to entries_since().
template <typename Tail, std::size_t Entries, typename Table>
Tail& tail_of(Table* table) {
  return *reinterpret_cast<Tail*>(reinterpret_cast<Entry*>(table) + Entries);
}

/// After the 1 entry of ze_global_dditable_t.
struct GlobalTail {
  InitDrivers init_drivers;  ///< 1.10
};
static_assert(sizeof(GlobalTail) == 1 * sizeof(Entry) && offsetof(ze_global_dditable_t, pfnInit) == 0);
inline GlobalTail& tail(ze_global_dditable_t* table) { return tail_of<GlobalTail, 1>(table); }

/// After the 6 entries of ze_driver_dditable_t.
struct DriverTail {
  DriverGetLastErrorDescription get_last_error_description;  ///< 1.6
  Entry rtas_format_compatibility_check_ext;                 ///< 1.13
  DriverGetDefaultContext get_default_context;               ///< 1.14
};
static_assert(sizeof(DriverTail) == 3 * sizeof(Entry) &&
              offsetof(ze_driver_dditable_t, pfnGetExtensionFunctionAddress) == 5 * sizeof(Entry));
inline DriverTail& tail(ze_driver_dditable_t* table) { return tail_of<DriverTail, 6>(table); }

/// After the 18 entries of ze_device_dditable_t.
struct DeviceTail {
  DeviceGetRootDevice get_root_device;                                ///< 1.7
  DeviceImportExternalSemaphoreExt import_external_semaphore_ext;     ///< 1.12
  DeviceReleaseExternalSemaphoreExt release_external_semaphore_ext;   ///< 1.12
  DeviceGetVectorWidthPropertiesExt get_vector_width_properties_ext;  ///< 1.13
  DeviceSynchronize synchronize;                                      ///< 1.14
  Entry get_aggregated_copy_offload_increment_value;                  ///< 1.15
  Entry get_runtime_requirements, get_runtime_requirements_key;       ///< 1.16
  Entry validate_runtime_requirements;                                ///< 1.16
  Entry get_counter_based_event_max_value;                            ///< 1.17
};
static_assert(sizeof(DeviceTail) == 10 * sizeof(Entry) &&
              offsetof(ze_device_dditable_t, pfnPciGetPropertiesExt) == 17 * sizeof(Entry));
inline DeviceTail& tail(ze_device_dditable_t* table) { return tail_of<DeviceTail, 18>(table); }

/// After the 4 entries of ze_command_queue_dditable_t.
struct CommandQueueTail {
  CommandQueueGetOrdinal get_ordinal;    ///< 1.9
  CommandQueueGetIndex get_index;        ///< 1.9
  CommandQueueGetFlags get_flags;        ///< 1.17
  CommandQueueGetMode get_mode;          ///< 1.17
  CommandQueueGetPriority get_priority;  ///< 1.17
};
static_assert(sizeof(CommandQueueTail) == 5 * sizeof(Entry) &&
              offsetof(ze_command_queue_dditable_t, pfnSynchronize) == 3 * sizeof(Entry));
inline CommandQueueTail& tail(ze_command_queue_dditable_t* table) { return tail_of<CommandQueueTail, 4>(table); }

/// After the 28 entries of ze_command_list_dditable_t.
struct CommandListTail {
  CommandListHostSynchronize host_synchronize;                                                ///< 1.6
  CommandListGetDeviceHandle get_device_handle;                                               ///< 1.9
  CommandListGetContextHandle get_context_handle;                                             ///< 1.9
  CommandListGetOrdinal get_ordinal;                                                          ///< 1.9
  CommandListImmediateGetIndex immediate_get_index;                                           ///< 1.9
  CommandListIsImmediate is_immediate;                                                        ///< 1.9
  CommandListAppendSignalExternalSemaphoreExt append_signal_external_semaphore_ext;           ///< 1.12
  CommandListAppendWaitExternalSemaphoreExt append_wait_external_semaphore_ext;               ///< 1.12
  Entry append_launch_kernel_with_parameters, append_launch_kernel_with_arguments;            ///< 1.14
  Entry append_memory_copy_with_parameters, append_memory_fill_with_parameters;               ///< 1.16
  Entry immediate_append_command_lists_with_parameters;                                       ///< 1.16
  CommandListGetFlags get_flags;                                                              ///< 1.17
  Entry immediate_get_flags, immediate_get_mode, immediate_get_priority;                      ///< 1.17
  Entry begin_graph_capture_ext, begin_capture_into_graph_ext, is_graph_capture_enabled_ext;  ///< 1.17
  Entry end_graph_capture_ext, get_graph_ext, append_graph_ext, append_host_function;         ///< 1.17
};
static_assert(sizeof(CommandListTail) == 24 * sizeof(Entry) &&
              offsetof(CommandListTail, get_flags) == 13 * sizeof(Entry) &&
              offsetof(ze_command_list_dditable_t, pfnAppendImageCopyFromMemoryExt) == 27 * sizeof(Entry));
inline CommandListTail& tail(ze_command_list_dditable_t* table) { return tail_of<CommandListTail, 28>(table); }

/// After the 10 entries of ze_mem_dditable_t.
struct MemTail {
  MemPutIpcHandle put_ipc_handle;                ///< 1.6
  MemGetPitchFor2dImage get_pitch_for_2d_image;  ///< 1.9
  Entry get_ipc_handle_with_properties;          ///< 1.15
};
static_assert(sizeof(MemTail) == 3 * sizeof(Entry) && offsetof(ze_mem_dditable_t, pfnFreeExt) == 9 * sizeof(Entry));
inline MemTail& tail(ze_mem_dditable_t* table) { return tail_of<MemTail, 10>(table); }

/// After the 5 entries of ze_event_pool_dditable_t.
struct EventPoolTail {
  EventPoolPutIpcHandle put_ipc_handle;          ///< 1.6
  EventPoolGetContextHandle get_context_handle;  ///< 1.9
  EventPoolGetFlags get_flags;                   ///< 1.9
};
static_assert(sizeof(EventPoolTail) == 3 * sizeof(Entry) &&
              offsetof(ze_event_pool_dditable_t, pfnCloseIpcHandle) == 4 * sizeof(Entry));
inline EventPoolTail& tail(ze_event_pool_dditable_t* table) { return tail_of<EventPoolTail, 5>(table); }

/// After the 7 entries of ze_event_dditable_t.
struct EventTail {
  EventQueryKernelTimestampsExt query_kernel_timestamps_ext;               ///< 1.6
  EventGetEventPool get_event_pool;                                        ///< 1.9
  EventGetSignalScope get_signal_scope;                                    ///< 1.9
  EventGetWaitScope get_wait_scope;                                        ///< 1.9
  EventCounterBasedCreate counter_based_create;                            ///< 1.15
  Entry counter_based_get_ipc_handle, counter_based_open_ipc_handle;       ///< 1.15
  Entry counter_based_close_ipc_handle, counter_based_get_device_address;  ///< 1.15
  EventGetCounterBasedFlags get_counter_based_flags;                       ///< 1.17
};
static_assert(sizeof(EventTail) == 10 * sizeof(Entry) &&
              offsetof(ze_event_dditable_t, pfnQueryKernelTimestamp) == 6 * sizeof(Entry));
inline EventTail& tail(ze_event_dditable_t* table) { return tail_of<EventTail, 7>(table); }

/// After the 4 entries of ze_image_dditable_t.
struct ImageTail {
  Entry view_create_ext;  ///< 1.5
};
inline ImageTail& tail(ze_image_dditable_t* table) { return tail_of<ImageTail, 4>(table); }

/// After the 2 entries of ze_image_exp_dditable_t.
struct ImageExpTail {
  Entry get_device_offset_exp;  ///< 1.9
};
inline ImageExpTail& tail(ze_image_exp_dditable_t* table) { return tail_of<ImageExpTail, 2>(table); }

/// After the 2 entries of ze_kernel_exp_dditable_t.
struct KernelExpTail {
  Entry get_binary_exp;                 ///< 1.11
  Entry get_allocation_properties_exp;  ///< 1.14
};
inline KernelExpTail& tail(ze_kernel_exp_dditable_t* table) { return tail_of<KernelExpTail, 2>(table); }

/// After the 2 entries of ze_physical_mem_dditable_t.
struct PhysicalMemTail {
  Entry get_properties;  ///< 1.15
};
inline PhysicalMemTail& tail(ze_physical_mem_dditable_t* table) { return tail_of<PhysicalMemTail, 2>(table); }
static_assert(offsetof(ze_image_dditable_t, pfnGetAllocPropertiesExt) == 3 * sizeof(Entry) &&
              offsetof(ze_image_exp_dditable_t, pfnViewCreateExp) == 1 * sizeof(Entry) &&
              offsetof(ze_kernel_exp_dditable_t, pfnSchedulingHintExp) == 1 * sizeof(Entry) &&
              offsetof(ze_physical_mem_dditable_t, pfnDestroy) == 1 * sizeof(Entry));

// Tables that 1.4 lacks.

/// Filled by zeGetCommandListExpProcAddrTable; 1.9.
struct CommandListExpTable {
  CommandListCreateCloneExp create_clone_exp;                                             ///< 1.9
  CommandListImmediateAppendCommandListsExp immediate_append_command_lists_exp;           ///< 1.9
  CommandListGetNextCommandIdExp get_next_command_id_exp;                                 ///< 1.9
  CommandListUpdateMutableCommandsExp update_mutable_commands_exp;                        ///< 1.9
  CommandListUpdateMutableCommandSignalEventExp update_mutable_command_signal_event_exp;  ///< 1.9
  CommandListUpdateMutableCommandWaitEventsExp update_mutable_command_wait_events_exp;    ///< 1.9
  CommandListGetNextCommandIdWithKernelsExp get_next_command_id_with_kernels_exp;         ///< 1.10
  CommandListUpdateMutableCommandKernelsExp update_mutable_command_kernels_exp;           ///< 1.10
  CommandListIsMutableExp is_mutable_exp;                                                 ///< 1.17
};
static_assert(sizeof(CommandListExpTable) == 9 * sizeof(Entry));

/// Filled by zeGetMemExpProcAddrTable; 1.6.
struct MemExpTable {
  MemGetIpcHandleFromFileDescriptorExp get_ipc_handle_from_file_descriptor_exp;  ///< 1.6
  MemGetFileDescriptorFromIpcHandleExp get_file_descriptor_from_ipc_handle_exp;  ///< 1.6
  MemSetAtomicAccessAttributeExp set_atomic_access_attribute_exp;                ///< 1.7
  MemGetAtomicAccessAttributeExp get_atomic_access_attribute_exp;                ///< 1.7
};
static_assert(sizeof(MemExpTable) == 4 * sizeof(Entry));

/// Filled by zeGetDriverExpProcAddrTable; 1.7.
struct DriverExpTable {
  Entry rtas_format_compatibility_check_exp;
};

/// Filled by zeGetRTASBuilderExpProcAddrTable and zeGetRTASParallelOperationExpProcAddrTable; 1.7. All ray tracing.
struct RtasExpTable {
  Entry entries[4];
};

/// Filled by zeGetRTASBuilderProcAddrTable; 1.13.
struct RtasBuilderTable {
  Entry entries[5];
};

/// Filled by zeGetRTASParallelOperationProcAddrTable; 1.13.
struct RtasParallelOperationTable {
  Entry entries[4];
};

/// Filled by zeGetGraphProcAddrTable; 1.17. Recorded command lists, unrelated to the graph extension.
struct RecordedGraphTable {
  Entry entries[7];
};

/// Filled by zeGetExecutableGraphProcAddrTable; 1.17.
struct ExecutableGraphTable {
  Entry entries[2];
};

/// How many entries of `Table` or tail a loader of this version has. 0 for versions before all of them.
template <typename Table>
constexpr std::size_t entries_since(std::uint32_t loader_version) = delete;

namespace detail {
struct Since {
  std::uint8_t minor;    ///< Since this minor version of API 1,
  std::uint8_t entries;  ///< there are this many entries.
};
template <std::size_t N>
constexpr std::size_t entries_at(std::uint32_t loader_version, const Since (&steps)[N]) {
  std::size_t entries = 0;
  for (const Since& step : steps)
    if (loader_version >= version(1, step.minor)) entries = step.entries;
  return entries;
}
}  // namespace detail

#define TENON_LEVEL_ZERO_SINCE(Table, ...)                                   \
  template <>                                                                \
  constexpr std::size_t entries_since<Table>(std::uint32_t loader_version) { \
    constexpr detail::Since steps[] = {__VA_ARGS__};                         \
    return detail::entries_at(loader_version, steps);                        \
  }                                                                          \
  static_assert(entries_since<Table>(version(1, 17)) == sizeof(Table) / sizeof(Entry))
TENON_LEVEL_ZERO_SINCE(GlobalTail, {10, 1});
TENON_LEVEL_ZERO_SINCE(DriverTail, {6, 1}, {13, 2}, {14, 3});
TENON_LEVEL_ZERO_SINCE(DeviceTail, {7, 1}, {12, 3}, {13, 4}, {14, 5}, {15, 6}, {16, 9}, {17, 10});
TENON_LEVEL_ZERO_SINCE(CommandQueueTail, {9, 2}, {17, 5});
TENON_LEVEL_ZERO_SINCE(CommandListTail, {6, 1}, {9, 6}, {12, 8}, {14, 10}, {16, 13}, {17, 24});
TENON_LEVEL_ZERO_SINCE(MemTail, {6, 1}, {9, 2}, {15, 3});
TENON_LEVEL_ZERO_SINCE(EventPoolTail, {6, 1}, {9, 3});
TENON_LEVEL_ZERO_SINCE(EventTail, {6, 1}, {9, 4}, {15, 9}, {17, 10});
TENON_LEVEL_ZERO_SINCE(ImageTail, {5, 1});
TENON_LEVEL_ZERO_SINCE(ImageExpTail, {9, 1});
TENON_LEVEL_ZERO_SINCE(KernelExpTail, {11, 1}, {14, 2});
TENON_LEVEL_ZERO_SINCE(PhysicalMemTail, {15, 1});
TENON_LEVEL_ZERO_SINCE(CommandListExpTable, {9, 6}, {10, 8}, {17, 9});
TENON_LEVEL_ZERO_SINCE(MemExpTable, {6, 2}, {7, 4});
TENON_LEVEL_ZERO_SINCE(DriverExpTable, {7, 1});
TENON_LEVEL_ZERO_SINCE(RtasExpTable, {7, 4});
TENON_LEVEL_ZERO_SINCE(RtasBuilderTable, {13, 5});
TENON_LEVEL_ZERO_SINCE(RtasParallelOperationTable, {13, 4});
TENON_LEVEL_ZERO_SINCE(RecordedGraphTable, {17, 7});
TENON_LEVEL_ZERO_SINCE(ExecutableGraphTable, {17, 2});
#undef TENON_LEVEL_ZERO_SINCE

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
