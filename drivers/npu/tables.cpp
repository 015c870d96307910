// SPDX-License-Identifier: Apache-2.0
// The core tables: which call is in which place since when.
// @source Level Zero specification 1.17, ze_ddi.h of each version.
#include <array>
#include <vector>

#include <tenon/drivers/npu/dispatch_internal.hpp>
#include <tenon/drivers/npu/extensions_internal.hpp>
#include <tenon/drivers/npu/queue_calls_internal.hpp>

namespace tenon::npu {
namespace {

/// Arguments are the caller's to clear away (x86-64 and AArch64 calling conventions), so one function serves every
/// type.
ze_result_t unsupported_call() {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              "an NPU runs graphs: it has no kernels, modules, images or samplers");
}

using Table = std::span<const TableEntry>;

Table global_table() {
  static const TableEntry entries[] = {entry(0, calls::init), entry(10, calls::init_drivers)};
  return entries;
}

Table driver_table() {
  static const TableEntry entries[] = {
      entry(0, calls::driver_get),
      entry(0, calls::driver_get_api_version),
      entry(0, calls::driver_get_properties),
      entry(0, calls::driver_get_ipc_properties),
      entry(0, calls::driver_get_extension_properties),
      entry(1, calls::driver_get_extension_function_address),
      entry(6, calls::driver_get_last_error_description),
      unsupported(13),  // RTAS format compatibility
                        // The default context is a handle, not a result: its place stays empty.
  };
  return entries;
}

Table device_table() {
  static const TableEntry entries[] = {
      entry(0, calls::device_get),
      entry(0, calls::device_get_sub_devices),
      entry(0, calls::device_get_properties),
      entry(0, calls::device_get_compute_properties),
      entry(0, calls::device_get_module_properties),
      entry(0, calls::device_get_command_queue_group_properties),
      entry(0, calls::device_get_memory_properties),
      entry(0, calls::device_get_memory_access_properties),
      entry(0, calls::device_get_cache_properties),
      entry(0, calls::device_get_image_properties),
      entry(0, calls::device_get_external_memory_properties),
      entry(0, calls::device_get_p2p_properties),
      entry(0, calls::device_can_access_peer),
      entry(0, calls::device_get_status),
      entry(1, calls::device_get_global_timestamps),
      unsupported(2),  // reserve cache
      unsupported(2),  // cache advice
      entry(3, calls::device_pci_get_properties),
      entry(7, calls::device_get_root_device),
      unsupported(12),  // import external semaphore
      unsupported(12),  // release external semaphore
      unsupported(13),  // vector width
  };
  return entries;
}

Table context_table() {
  static const TableEntry entries[] = {
      entry(0, calls::context_create),
      entry(0, calls::context_destroy),
      entry(0, calls::context_get_status),
      entry(0, calls::context_system_barrier),
      entry(0, calls::context_make_memory_resident),
      entry(0, calls::context_evict_memory),
      unsupported(0),  // make image resident
      unsupported(0),  // evict image
      entry(1, calls::context_create_ex),
  };
  return entries;
}

Table queue_table() {
  static const TableEntry entries[] = {
      entry(0, calls::queue_create),
      entry(0, calls::queue_destroy),
      entry(0, calls::queue_execute_command_lists),
      entry(0, calls::queue_synchronize),
      entry(9, calls::queue_get_ordinal),
      entry(9, calls::queue_get_index),
  };
  return entries;
}

Table list_table() {
  static const TableEntry entries[] = {
      entry(0, calls::list_create),
      entry(0, calls::list_create_immediate),
      entry(0, calls::list_destroy),
      entry(0, calls::list_close),
      entry(0, calls::list_reset),
      entry(0, calls::append_write_global_timestamp),
      entry(0, calls::append_barrier),
      entry(0, calls::append_memory_ranges_barrier),
      entry(0, calls::append_memory_copy),
      entry(0, calls::append_memory_fill),
      unsupported(0),  // copy region
      unsupported(0),  // copy from context
      unsupported(0),  // image copy
      unsupported(0),  // image copy region
      unsupported(0),  // image to memory
      unsupported(0),  // memory to image
      entry(0, calls::append_memory_prefetch),
      entry(0, calls::append_mem_advise),
      entry(0, calls::append_signal_event),
      entry(0, calls::append_wait_on_events),
      entry(0, calls::append_event_reset),
      entry(0, calls::append_query_kernel_timestamps),
      unsupported(0),  // launch kernel
      unsupported(0),  // launch cooperative kernel
      unsupported(0),  // launch kernel indirect
      unsupported(0),  // launch multiple kernels indirect
      unsupported(3),  // image to memory, with pitches
      unsupported(3),  // memory to image, with pitches
      entry(6, calls::list_host_synchronize),
      entry(9, calls::list_get_device),
      entry(9, calls::list_get_context),
      entry(9, calls::list_get_ordinal),
      entry(9, calls::list_get_index),
      entry(9, calls::list_is_immediate),
      unsupported(12),  // signal external semaphore
      unsupported(12),  // wait for external semaphore
  };
  return entries;
}

Table list_exp_table() {
  static const TableEntry entries[] = {
      unsupported(9),  // clone
      entry(9, calls::list_append_lists),
      entry(9, calls::list_get_next_command_id),
      entry(9, calls::list_update_mutable_commands),
      entry(9, calls::list_update_mutable_signal_event),
      entry(9, calls::list_update_mutable_wait_events),
      unsupported(10),  // ids with kernels
      unsupported(10),  // change kernels
  };
  return entries;
}

Table memory_table_of_calls() {
  static const TableEntry entries[] = {
      entry(0, calls::mem_alloc_shared),
      entry(0, calls::mem_alloc_device),
      entry(0, calls::mem_alloc_host),
      entry(0, calls::mem_free),
      entry(0, calls::mem_get_alloc_properties),
      entry(0, calls::mem_get_address_range),
      unsupported(0),  // get IPC handle
      unsupported(0),  // open IPC handle
      unsupported(0),  // close IPC handle
      entry(3, calls::mem_free_ext),
      unsupported(6),  // put IPC handle
      unsupported(9),  // pitch of images
  };
  return entries;
}

Table fence_table() {
  static const TableEntry entries[] = {
      entry(0, calls::fence_create),       entry(0, calls::fence_destroy), entry(0, calls::fence_host_synchronize),
      entry(0, calls::fence_query_status), entry(0, calls::fence_reset),
  };
  return entries;
}

Table event_pool_table() {
  static const TableEntry entries[] = {
      entry(0, calls::event_pool_create),
      entry(0, calls::event_pool_destroy),
      unsupported(0),  // get IPC handle
      unsupported(0),  // open IPC handle
      unsupported(0),  // close IPC handle
      unsupported(6),  // put IPC handle
      entry(9, calls::event_pool_get_context),
      entry(9, calls::event_pool_get_flags),
  };
  return entries;
}

Table event_table() {
  static const TableEntry entries[] = {
      entry(0, calls::event_create),
      entry(0, calls::event_destroy),
      entry(0, calls::event_host_signal),
      entry(0, calls::event_host_synchronize),
      entry(0, calls::event_query_status),
      entry(0, calls::event_host_reset),
      entry(0, calls::event_query_kernel_timestamp),
      entry(6, calls::event_query_kernel_timestamps_ext),
      entry(9, calls::event_get_pool),
      entry(9, calls::event_get_signal_scope),
      entry(9, calls::event_get_wait_scope),
  };
  return entries;
}

/// A table in the form that handles refer to, as long as any version knows it.
const void* const* whole_table(Table entries) {
  auto* places = new std::array<const void*, 64>{};  // Once per table, for as long as there are handles.
  for (std::size_t i = 0; i < entries.size(); ++i) (*places)[i] = entries[i].call;
  return places->data();  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)
}

const void* const* whole_unsupported_table() {
  static const auto* const places = [] {
    auto* all = new std::array<const void*, 64>;
    all->fill(unsupported(0).call);
    return all;
  }();
  return places->data();  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)
}

/// What a handle's first pointer refers to: a version, whether it is valid, then one pointer per table.
struct CoreDispatch {
  std::uint32_t version = kApiVersion;
  std::uint8_t is_valid = 1;
  std::array<const void* const*, 34> tables{};
};
/// The same of tools, sysman and the runtime: there is none.
struct NoDispatch {
  std::uint32_t version = kApiVersion;
  std::uint8_t is_valid = 0;
  std::array<const void*, 64> tables{};
};

/// The tables in the order of the struct. Loaders before 1.13 have no tables for the ray-tracing builder's first form.
const CoreDispatch* make_dispatch(bool has_first_builders) {
  const void* const* const none = whole_unsupported_table();
  std::vector<const void* const*> tables;
  if (has_first_builders) tables.push_back(none);
  tables.push_back(none);  // RTASBuilderExp
  if (has_first_builders) tables.push_back(none);
  tables.push_back(none);  // RTASParallelOperationExp
  tables.push_back(whole_table(global_table()));
  tables.push_back(whole_table(driver_table()));
  tables.push_back(none);  // DriverExp
  tables.push_back(whole_table(device_table()));
  tables.push_back(none);  // DeviceExp
  tables.push_back(whole_table(context_table()));
  tables.push_back(whole_table(queue_table()));
  tables.push_back(whole_table(list_table()));
  tables.push_back(whole_table(list_exp_table()));
  tables.insert(tables.end(), 2, none);  // Image, ImageExp
  tables.push_back(whole_table(memory_table_of_calls()));
  tables.push_back(none);  // MemExp
  tables.push_back(whole_table(fence_table()));
  tables.push_back(whole_table(event_pool_table()));
  tables.push_back(whole_table(event_table()));
  tables.insert(tables.end(), 12,
                none);  // EventExp and what follows: modules, kernels, samplers, virtual memory, graphs
  auto* dispatch = new CoreDispatch;
  for (std::size_t i = 0; i < tables.size() && i < dispatch->tables.size(); ++i) dispatch->tables[i] = tables[i];
  return dispatch;
}

}  // namespace

TableEntry unsupported(std::uint32_t minor) { return entry(minor, unsupported_call); }

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
      entries[count++] = unsupported(group.minor);
  return fill_table(version, table, std::span(entries).first(count));
}

void set_dispatch(const void** dispatch) noexcept {
  static const CoreDispatch* const core = make_dispatch(loader_version() >= abi::version(1, 13));
  static const NoDispatch none;
  dispatch[0] = core;
  dispatch[1] = dispatch[2] = dispatch[3] = &none;
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

// What loaders insist on, or ask for, and an NPU has not.
TENON_NPU_EXPORT(zeGetRTASBuilderProcAddrTable) { return npu::fill_unsupported(version, table, {{13, 5}}); }
TENON_NPU_EXPORT(zeGetRTASBuilderExpProcAddrTable) { return npu::fill_unsupported(version, table, {{7, 4}}); }
TENON_NPU_EXPORT(zeGetRTASParallelOperationProcAddrTable) { return npu::fill_unsupported(version, table, {{13, 4}}); }
TENON_NPU_EXPORT(zeGetRTASParallelOperationExpProcAddrTable) { return npu::fill_unsupported(version, table, {{7, 4}}); }
TENON_NPU_EXPORT(zeGetDriverExpProcAddrTable) { return npu::fill_unsupported(version, table, {{7, 1}}); }
TENON_NPU_EXPORT(zeGetDeviceExpProcAddrTable) { return npu::fill_unsupported(version, table, {{4, 1}}); }
TENON_NPU_EXPORT(zeGetImageProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 3}, {3, 1}, {5, 1}}); }
TENON_NPU_EXPORT(zeGetImageExpProcAddrTable) { return npu::fill_unsupported(version, table, {{2, 2}, {9, 1}}); }
TENON_NPU_EXPORT(zeGetMemExpProcAddrTable) { return npu::fill_unsupported(version, table, {{6, 2}, {7, 2}}); }
TENON_NPU_EXPORT(zeGetEventExpProcAddrTable) { return npu::fill_unsupported(version, table, {{2, 1}}); }
TENON_NPU_EXPORT(zeGetModuleProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 8}, {3, 1}}); }
TENON_NPU_EXPORT(zeGetModuleBuildLogProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 2}}); }
TENON_NPU_EXPORT(zeGetKernelProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 12}}); }
TENON_NPU_EXPORT(zeGetKernelExpProcAddrTable) {
  return npu::fill_unsupported(version, table, {{1, 1}, {2, 1}, {11, 1}});
}
TENON_NPU_EXPORT(zeGetSamplerProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 2}}); }
TENON_NPU_EXPORT(zeGetPhysicalMemProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 2}}); }
TENON_NPU_EXPORT(zeGetVirtualMemProcAddrTable) { return npu::fill_unsupported(version, table, {{0, 7}}); }
TENON_NPU_EXPORT(zeGetFabricVertexExpProcAddrTable) { return npu::fill_unsupported(version, table, {{4, 4}}); }
TENON_NPU_EXPORT(zeGetFabricEdgeExpProcAddrTable) { return npu::fill_unsupported(version, table, {{4, 3}}); }
