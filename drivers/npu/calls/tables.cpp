// SPDX-License-Identifier: Apache-2.0
// The core tables: each call's place, and the API version that added it.
// @source Level Zero specification 1.17, ze_ddi.h of each version.
#include <array>
#include <tuple>
#include <vector>

#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/calls/queue_calls.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>

namespace tenon::npu {
namespace {

using Table = std::span<const TableEntry>;

Table global_table() {
  static const TableEntry entries[] = {entry<"zeInit", calls::init>(0),
                                       entry<"zeInitDrivers", calls::init_drivers>(10)};
  return entries;
}

Table driver_table() {
  static const TableEntry entries[] = {
      entry<"zeDriverGet", calls::driver_get>(0),
      entry<"zeDriverGetApiVersion", calls::driver_get_api_version>(0),
      entry<"zeDriverGetProperties", calls::driver_get_properties>(0),
      entry<"zeDriverGetIpcProperties", calls::driver_get_ipc_properties>(0),
      entry<"zeDriverGetExtensionProperties", calls::driver_get_extension_properties>(0),
      entry<"zeDriverGetExtensionFunctionAddress", calls::driver_get_extension_function_address>(1),
      entry<"zeDriverGetLastErrorDescription", calls::driver_get_last_error_description>(6),
      unsupported<"zeDriverRTASFormatCompatibilityCheckExt">(13)
      // The default context is returned as a handle, not a result, so its place stays empty.
  };
  return entries;
}

Table device_table() {
  static const TableEntry entries[] = {
      entry<"zeDeviceGet", calls::device_get>(0),
      entry<"zeDeviceGetSubDevices", calls::device_get_sub_devices>(0),
      entry<"zeDeviceGetProperties", calls::device_get_properties>(0),
      entry<"zeDeviceGetComputeProperties", calls::device_get_compute_properties>(0),
      entry<"zeDeviceGetModuleProperties", calls::device_get_module_properties>(0),
      entry<"zeDeviceGetCommandQueueGroupProperties", calls::device_get_command_queue_group_properties>(0),
      entry<"zeDeviceGetMemoryProperties", calls::device_get_memory_properties>(0),
      entry<"zeDeviceGetMemoryAccessProperties", calls::device_get_memory_access_properties>(0),
      entry<"zeDeviceGetCacheProperties", calls::device_get_cache_properties>(0),
      entry<"zeDeviceGetImageProperties", calls::device_get_image_properties>(0),
      entry<"zeDeviceGetExternalMemoryProperties", calls::device_get_external_memory_properties>(0),
      entry<"zeDeviceGetP2PProperties", calls::device_get_p2p_properties>(0),
      entry<"zeDeviceCanAccessPeer", calls::device_can_access_peer>(0),
      entry<"zeDeviceGetStatus", calls::device_get_status>(0),
      entry<"zeDeviceGetGlobalTimestamps", calls::device_get_global_timestamps>(1),
      unsupported<"zeDeviceReserveCacheExt">(2),
      unsupported<"zeDeviceSetCacheAdviceExt">(2),
      entry<"zeDevicePciGetPropertiesExt", calls::device_pci_get_properties>(3),
      entry<"zeDeviceGetRootDevice", calls::device_get_root_device>(7),
      unsupported<"zeDeviceImportExternalSemaphoreExt">(12),
      unsupported<"zeDeviceReleaseExternalSemaphoreExt">(12),
      unsupported<"zeDeviceGetVectorWidthPropertiesExt">(13),
  };
  return entries;
}

Table context_table() {
  static const TableEntry entries[] = {
      entry<"zeContextCreate", calls::context_create>(0),
      entry<"zeContextDestroy", calls::context_destroy>(0),
      entry<"zeContextGetStatus", calls::context_get_status>(0),
      entry<"zeContextSystemBarrier", calls::context_system_barrier>(0),
      entry<"zeContextMakeMemoryResident", calls::context_make_memory_resident>(0),
      entry<"zeContextEvictMemory", calls::context_evict_memory>(0),
      unsupported<"zeContextMakeImageResident">(0),
      unsupported<"zeContextEvictImage">(0),
      entry<"zeContextCreateEx", calls::context_create_ex>(1),
  };
  return entries;
}

Table queue_table() {
  static const TableEntry entries[] = {
      entry<"zeCommandQueueCreate", calls::queue_create>(0),
      entry<"zeCommandQueueDestroy", calls::queue_destroy>(0),
      entry<"zeCommandQueueExecuteCommandLists", calls::queue_execute_command_lists>(0),
      entry<"zeCommandQueueSynchronize", calls::queue_synchronize>(0),
      entry<"zeCommandQueueGetOrdinal", calls::queue_get_ordinal>(9),
      entry<"zeCommandQueueGetIndex", calls::queue_get_index>(9),
  };
  return entries;
}

Table list_table() {
  static const TableEntry entries[] = {
      entry<"zeCommandListCreate", calls::list_create>(0),
      entry<"zeCommandListCreateImmediate", calls::list_create_immediate>(0),
      entry<"zeCommandListDestroy", calls::list_destroy>(0),
      entry<"zeCommandListClose", calls::list_close>(0),
      entry<"zeCommandListReset", calls::list_reset>(0),
      entry<"zeCommandListAppendWriteGlobalTimestamp", calls::append_write_global_timestamp>(0),
      entry<"zeCommandListAppendBarrier", calls::append_barrier>(0),
      entry<"zeCommandListAppendMemoryRangesBarrier", calls::append_memory_ranges_barrier>(0),
      entry<"zeCommandListAppendMemoryCopy", calls::append_memory_copy>(0),
      entry<"zeCommandListAppendMemoryFill", calls::append_memory_fill>(0),
      entry<"zeCommandListAppendMemoryCopyRegion", calls::append_memory_copy_region>(0),
      entry<"zeCommandListAppendMemoryCopyFromContext", calls::append_memory_copy_from_context>(0),
      unsupported<"zeCommandListAppendImageCopy">(0),
      unsupported<"zeCommandListAppendImageCopyRegion">(0),
      unsupported<"zeCommandListAppendImageCopyToMemory">(0),
      unsupported<"zeCommandListAppendImageCopyFromMemory">(0),
      entry<"zeCommandListAppendMemoryPrefetch", calls::append_memory_prefetch>(0),
      entry<"zeCommandListAppendMemAdvise", calls::append_mem_advise>(0),
      entry<"zeCommandListAppendSignalEvent", calls::append_signal_event>(0),
      entry<"zeCommandListAppendWaitOnEvents", calls::append_wait_on_events>(0),
      entry<"zeCommandListAppendEventReset", calls::append_event_reset>(0),
      entry<"zeCommandListAppendQueryKernelTimestamps", calls::append_query_kernel_timestamps>(0),
      unsupported<"zeCommandListAppendLaunchKernel">(0),
      unsupported<"zeCommandListAppendLaunchCooperativeKernel">(0),
      unsupported<"zeCommandListAppendLaunchKernelIndirect">(0),
      unsupported<"zeCommandListAppendLaunchMultipleKernelsIndirect">(0),
      unsupported<"zeCommandListAppendImageCopyToMemoryExt">(3),
      unsupported<"zeCommandListAppendImageCopyFromMemoryExt">(3),
      entry<"zeCommandListHostSynchronize", calls::list_host_synchronize>(6),
      entry<"zeCommandListGetDeviceHandle", calls::list_get_device>(9),
      entry<"zeCommandListGetContextHandle", calls::list_get_context>(9),
      entry<"zeCommandListGetOrdinal", calls::list_get_ordinal>(9),
      entry<"zeCommandListImmediateGetIndex", calls::list_get_index>(9),
      entry<"zeCommandListIsImmediate", calls::list_is_immediate>(9),
      unsupported<"zeCommandListAppendSignalExternalSemaphoreExt">(12),
      unsupported<"zeCommandListAppendWaitExternalSemaphoreExt">(12),
  };
  return entries;
}

Table list_exp_table() {
  static const TableEntry entries[] = {
      unsupported<"zeCommandListCreateCloneExp">(9),
      entry<"zeCommandListImmediateAppendCommandListsExp", calls::list_append_lists>(9),
      entry<"zeCommandListGetNextCommandIdExp", calls::list_get_next_command_id>(9),
      entry<"zeCommandListUpdateMutableCommandsExp", calls::list_update_mutable_commands>(9),
      entry<"zeCommandListUpdateMutableCommandSignalEventExp", calls::list_update_mutable_signal_event>(9),
      entry<"zeCommandListUpdateMutableCommandWaitEventsExp", calls::list_update_mutable_wait_events>(9),
      unsupported<"zeCommandListGetNextCommandIdWithKernelsExp">(10),
      unsupported<"zeCommandListUpdateMutableCommandKernelsExp">(10),
  };
  return entries;
}

Table memory_table_of_calls() {
  static const TableEntry entries[] = {
      entry<"zeMemAllocShared", calls::mem_alloc_shared>(0),
      entry<"zeMemAllocDevice", calls::mem_alloc_device>(0),
      entry<"zeMemAllocHost", calls::mem_alloc_host>(0),
      entry<"zeMemFree", calls::mem_free>(0),
      entry<"zeMemGetAllocProperties", calls::mem_get_alloc_properties>(0),
      entry<"zeMemGetAddressRange", calls::mem_get_address_range>(0),
      entry<"zeMemGetIpcHandle", calls::mem_get_ipc_handle>(0),
      entry<"zeMemOpenIpcHandle", calls::mem_open_ipc_handle>(0),
      entry<"zeMemCloseIpcHandle", calls::mem_close_ipc_handle>(0),
      entry<"zeMemFreeExt", calls::mem_free_ext>(3),
      entry<"zeMemPutIpcHandle", calls::mem_put_ipc_handle>(6),
      unsupported<"zeMemGetPitchFor2dImage">(9),
  };
  return entries;
}

Table fence_table() {
  static const TableEntry entries[] = {
      entry<"zeFenceCreate", calls::fence_create>(0),
      entry<"zeFenceDestroy", calls::fence_destroy>(0),
      entry<"zeFenceHostSynchronize", calls::fence_host_synchronize>(0),
      entry<"zeFenceQueryStatus", calls::fence_query_status>(0),
      entry<"zeFenceReset", calls::fence_reset>(0),
  };
  return entries;
}

Table event_pool_table() {
  static const TableEntry entries[] = {
      entry<"zeEventPoolCreate", calls::event_pool_create>(0),
      entry<"zeEventPoolDestroy", calls::event_pool_destroy>(0),
      unsupported<"zeEventPoolGetIpcHandle">(0),
      unsupported<"zeEventPoolOpenIpcHandle">(0),
      unsupported<"zeEventPoolCloseIpcHandle">(0),
      unsupported<"zeEventPoolPutIpcHandle">(6),
      entry<"zeEventPoolGetContextHandle", calls::event_pool_get_context>(9),
      entry<"zeEventPoolGetFlags", calls::event_pool_get_flags>(9),
  };
  return entries;
}

Table event_table() {
  static const TableEntry entries[] = {
      entry<"zeEventCreate", calls::event_create>(0),
      entry<"zeEventDestroy", calls::event_destroy>(0),
      entry<"zeEventHostSignal", calls::event_host_signal>(0),
      entry<"zeEventHostSynchronize", calls::event_host_synchronize>(0),
      entry<"zeEventQueryStatus", calls::event_query_status>(0),
      entry<"zeEventHostReset", calls::event_host_reset>(0),
      entry<"zeEventQueryKernelTimestamp", calls::event_query_kernel_timestamp>(0),
      entry<"zeEventQueryKernelTimestampsExt", calls::event_query_kernel_timestamps_ext>(6),
      entry<"zeEventGetEventPool", calls::event_get_pool>(9),
      entry<"zeEventGetSignalScope", calls::event_get_signal_scope>(9),
      entry<"zeEventGetWaitScope", calls::event_get_wait_scope>(9),
  };
  return entries;
}

// Features that an NPU lacks.
Table image_table() {
  static const TableEntry entries[] = {unsupported<"zeImageGetProperties">(0), unsupported<"zeImageCreate">(0),
                                       unsupported<"zeImageDestroy">(0), unsupported<"zeImageGetAllocPropertiesExt">(3),
                                       unsupported<"zeImageViewCreateExt">(5)};
  return entries;
}

Table image_exp_table() {
  static const TableEntry entries[] = {unsupported<"zeImageGetMemoryPropertiesExp">(2),
                                       unsupported<"zeImageViewCreateExp">(2),
                                       unsupported<"zeImageGetDeviceOffsetExp">(9)};
  return entries;
}

Table memory_exp_table() {
  static const TableEntry entries[] = {
      entry<"zeMemGetIpcHandleFromFileDescriptorExp", calls::mem_get_ipc_handle_from_fd>(6),
      entry<"zeMemGetFileDescriptorFromIpcHandleExp", calls::mem_get_fd_from_ipc_handle>(6),
      unsupported<"zeMemSetAtomicAccessAttributeExp">(7), unsupported<"zeMemGetAtomicAccessAttributeExp">(7)};
  return entries;
}

Table event_exp_table() {
  static const TableEntry entries[] = {unsupported<"zeEventQueryTimestampsExp">(2)};
  return entries;
}

Table module_table() {
  static const TableEntry entries[] = {
      unsupported<"zeModuleCreate">(0),           unsupported<"zeModuleDestroy">(0),
      unsupported<"zeModuleDynamicLink">(0),      unsupported<"zeModuleGetNativeBinary">(0),
      unsupported<"zeModuleGetGlobalPointer">(0), unsupported<"zeModuleGetKernelNames">(0),
      unsupported<"zeModuleGetProperties">(0),    unsupported<"zeModuleGetFunctionPointer">(0),
      unsupported<"zeModuleInspectLinkageExt">(3)};
  return entries;
}

Table kernel_table() {
  static const TableEntry entries[] = {unsupported<"zeKernelCreate">(0),
                                       unsupported<"zeKernelDestroy">(0),
                                       unsupported<"zeKernelSetCacheConfig">(0),
                                       unsupported<"zeKernelSetGroupSize">(0),
                                       unsupported<"zeKernelSuggestGroupSize">(0),
                                       unsupported<"zeKernelSuggestMaxCooperativeGroupCount">(0),
                                       unsupported<"zeKernelSetArgumentValue">(0),
                                       unsupported<"zeKernelSetIndirectAccess">(0),
                                       unsupported<"zeKernelGetIndirectAccess">(0),
                                       unsupported<"zeKernelGetSourceAttributes">(0),
                                       unsupported<"zeKernelGetProperties">(0),
                                       unsupported<"zeKernelGetName">(0)};
  return entries;
}

Table sampler_table() {
  static const TableEntry entries[] = {unsupported<"zeSamplerCreate">(0), unsupported<"zeSamplerDestroy">(0)};
  return entries;
}

Table physical_mem_table() {
  static const TableEntry entries[] = {entry<"zePhysicalMemCreate", calls::physical_mem_create>(0),
                                       entry<"zePhysicalMemDestroy", calls::physical_mem_destroy>(0)};
  return entries;
}

Table virtual_mem_table() {
  static const TableEntry entries[] = {entry<"zeVirtualMemReserve", calls::virtual_mem_reserve>(0),
                                       entry<"zeVirtualMemFree", calls::virtual_mem_free>(0),
                                       entry<"zeVirtualMemQueryPageSize", calls::virtual_mem_query_page_size>(0),
                                       entry<"zeVirtualMemMap", calls::virtual_mem_map>(0),
                                       entry<"zeVirtualMemUnmap", calls::virtual_mem_unmap>(0),
                                       entry<"zeVirtualMemSetAccessAttribute", calls::virtual_mem_set_access>(0),
                                       entry<"zeVirtualMemGetAccessAttribute", calls::virtual_mem_get_access>(0)};
  return entries;
}

using WholeTable = std::array<const void*, 64>;

/// The structure to which a handle's first pointer points: a version, a validity flag, then one pointer per table.
struct CoreDispatch {
  std::uint32_t version = api_version();
  std::uint8_t is_valid = 1;
  std::array<const void* const*, 34> tables{};
};
/// The same for the runtime, which is not supported.
struct NoDispatch {
  std::uint32_t version = kApiVersion;
  std::uint8_t is_valid = 0;
  std::array<const void*, 64> tables{};
};

/// The core structure with its tables, as long as in any known version. It holds them itself, since a handle is made where no
/// allocation may fail.
class Dispatch {
 public:
  /// Tables in the struct's order. Loaders before 1.13 have none for the ray-tracing builder's first form.
  explicit Dispatch(bool has_first_builders) noexcept {
    const void* const* const none = unsupported({});
    if (has_first_builders) add(none);
    add(none);  // RTASBuilderExp
    if (has_first_builders) add(none);
    add(none);  // RTASParallelOperationExp
    add(whole(global_table()));
    add(whole(driver_table()));
    add(none);  // DriverExp
    add(whole(device_table()));
    add(none);  // DeviceExp
    add(whole(context_table()));
    add(whole(queue_table()));
    add(whole(list_table()));
    add(whole(list_exp_table()));
    add(unsupported(image_table()));
    add(unsupported(image_exp_table()));
    add(whole(memory_table_of_calls()));
    add(unsupported(memory_exp_table()));
    add(whole(fence_table()));
    add(whole(event_pool_table()));
    add(whole(event_table()));
    add(unsupported(event_exp_table()));
    add(unsupported(module_table()));
    add(none);  // ModuleBuildLog
    add(unsupported(kernel_table()));
    add(none);  // KernelExp
    add(unsupported(sampler_table()));
    add(unsupported(physical_mem_table()));
    add(unsupported(virtual_mem_table()));
    while (listed_ < core_.tables.size()) add(none);  // Fabrics and later tables.
  }
  const CoreDispatch* core() const noexcept { return &core_; }

 private:
  void add(const void* const* table) noexcept {
    if (listed_ < core_.tables.size()) core_.tables[listed_++] = table;
  }
  /// @param rest  fills unset entries.
  const void* const* whole(Table entries, const void* rest = nullptr) noexcept {
    WholeTable& places = places_[made_++];
    places.fill(rest);
    for (std::size_t i = 0; i < entries.size(); ++i) places[i] = entries[i].call;
    return places.data();
  }
  /// A table of which the driver supports nothing, including entries of newer versions.
  const void* const* unsupported(Table entries) noexcept {
    return whole(entries, reinterpret_cast<const void*>(unsupported_call));
  }

  CoreDispatch core_;
  std::array<WholeTable, std::tuple_size_v<decltype(CoreDispatch::tables)>> places_;
  std::size_t listed_ = 0, made_ = 0;
};

}  // namespace

ze_result_t unsupported_call() {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              "an NPU runs graphs: it has no kernels, modules, images or samplers");
}

std::vector<std::span<const TableEntry>> named_tables() {
  return {global_table(), driver_table(),   device_table(),    context_table(),         queue_table(),
          list_table(),   list_exp_table(), fence_table(),     memory_table_of_calls(), event_pool_table(),
          event_table(),  image_table(),    image_exp_table(), memory_exp_table(),      event_exp_table(),
          module_table(), kernel_table(),   sampler_table(),   physical_mem_table(),    virtual_mem_table()};
}

ze_result_t fill_table(ze_api_version_t version, void* table, std::span<const TableEntry> entries) noexcept {
  const auto asked = static_cast<std::uint32_t>(version);
  if (abi::major_of(asked) != 1) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  if (!table) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  note_loader_version(asked);
  auto** places = static_cast<const void**>(table);
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].minor <= abi::minor_of(asked)) places[i] = entries[i].call;
  return ZE_RESULT_SUCCESS;
}

ze_result_t fill_unsupported(ze_api_version_t version, void* table, std::initializer_list<Places> places) noexcept {
  std::array<TableEntry, 64> entries;
  std::size_t count = 0;
  for (const Places& group : places)
    for (std::uint32_t i = 0; i < group.count && count < entries.size(); ++i)
      entries[count++] = {reinterpret_cast<const void*>(unsupported_call), group.minor, ""};
  return fill_table(version, table, std::span(entries).first(count));
}

void set_dispatch(const void** dispatch) noexcept {
  static const Dispatch core(loader_version() >= abi::version(1, 13));
  static const NoDispatch none;
  dispatch[0] = core.core();
  dispatch[1] = tools_dispatch();
  dispatch[2] = sysman_dispatch();
  dispatch[3] = &none;
}

}  // namespace tenon::npu

namespace npu = tenon::npu;

TENON_NPU_EXPORT(zeGetGlobalProcAddrTable) { return npu::fill_table(version, table, npu::global_table()); }
TENON_NPU_EXPORT(zeGetDriverProcAddrTable) { return npu::fill_table(version, table, npu::driver_table()); }
TENON_NPU_EXPORT(zeGetDeviceProcAddrTable) { return npu::fill_table(version, table, npu::device_table()); }
TENON_NPU_EXPORT(zeGetContextProcAddrTable) { return npu::fill_table(version, table, npu::context_table()); }
TENON_NPU_EXPORT(zeGetCommandQueueProcAddrTable) { return npu::fill_table(version, table, npu::queue_table()); }
TENON_NPU_EXPORT(zeGetCommandListProcAddrTable) { return npu::fill_table(version, table, npu::list_table()); }
TENON_NPU_EXPORT(zeGetCommandListExpProcAddrTable) { return npu::fill_table(version, table, npu::list_exp_table()); }
TENON_NPU_EXPORT(zeGetMemProcAddrTable) { return npu::fill_table(version, table, npu::memory_table_of_calls()); }
TENON_NPU_EXPORT(zeGetFenceProcAddrTable) { return npu::fill_table(version, table, npu::fence_table()); }
TENON_NPU_EXPORT(zeGetEventPoolProcAddrTable) { return npu::fill_table(version, table, npu::event_pool_table()); }
TENON_NPU_EXPORT(zeGetEventProcAddrTable) { return npu::fill_table(version, table, npu::event_table()); }

// Tables that loaders require or request and an NPU lacks.
TENON_NPU_EXPORT(zeGetRTASBuilderProcAddrTable) { return npu::fill_unsupported(version, table, {{13, 5}}); }
TENON_NPU_EXPORT(zeGetRTASBuilderExpProcAddrTable) { return npu::fill_unsupported(version, table, {{7, 4}}); }
TENON_NPU_EXPORT(zeGetRTASParallelOperationProcAddrTable) { return npu::fill_unsupported(version, table, {{13, 4}}); }
TENON_NPU_EXPORT(zeGetRTASParallelOperationExpProcAddrTable) { return npu::fill_unsupported(version, table, {{7, 4}}); }
TENON_NPU_EXPORT(zeGetDriverExpProcAddrTable) { return npu::fill_unsupported(version, table, {{7, 1}}); }
TENON_NPU_EXPORT(zeGetDeviceExpProcAddrTable) { return npu::fill_unsupported(version, table, {{4, 1}}); }
TENON_NPU_EXPORT(zeGetImageProcAddrTable) { return npu::fill_table(version, table, npu::image_table()); }
TENON_NPU_EXPORT(zeGetImageExpProcAddrTable) { return npu::fill_table(version, table, npu::image_exp_table()); }
TENON_NPU_EXPORT(zeGetMemExpProcAddrTable) { return npu::fill_table(version, table, npu::memory_exp_table()); }
TENON_NPU_EXPORT(zeGetEventExpProcAddrTable) { return npu::fill_table(version, table, npu::event_exp_table()); }
TENON_NPU_EXPORT(zeGetModuleProcAddrTable) { return npu::fill_table(version, table, npu::module_table()); }
TENON_NPU_EXPORT(zeGetModuleBuildLogProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 2}}); }
TENON_NPU_EXPORT(zeGetKernelProcAddrTable) { return npu::fill_table(version, table, npu::kernel_table()); }
TENON_NPU_EXPORT(zeGetKernelExpProcAddrTable) {
  return npu::fill_unsupported(version, table, {{1, 1}, {2, 1}, {11, 1}});
}
TENON_NPU_EXPORT(zeGetSamplerProcAddrTable) { return npu::fill_table(version, table, npu::sampler_table()); }
TENON_NPU_EXPORT(zeGetPhysicalMemProcAddrTable) { return npu::fill_table(version, table, npu::physical_mem_table()); }
TENON_NPU_EXPORT(zeGetVirtualMemProcAddrTable) { return npu::fill_table(version, table, npu::virtual_mem_table()); }
TENON_NPU_EXPORT(zeGetFabricVertexExpProcAddrTable) { return npu::fill_unsupported(version, table, {{4, 4}}); }
TENON_NPU_EXPORT(zeGetFabricEdgeExpProcAddrTable) { return npu::fill_unsupported(version, table, {{4, 3}}); }
