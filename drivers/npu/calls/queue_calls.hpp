// SPDX-License-Identifier: Apache-2.0
// The calls about queues, lists, fences and events: see calls.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/drivers/npu/calls/calls.hpp>  // IWYU pragma: export
#include <tenon/drivers/npu/objects/tile_scheduler.hpp>
#include <tenon/drivers/npu/run/queue.hpp>  // IWYU pragma: export

namespace tenon::npu {

inline constexpr std::uint32_t kMaxQueues = 64;      ///< Indices of the device's only group.
inline constexpr std::size_t kMaxFillPattern = 128;  ///< Bytes.
/// The changes of a mutable list that devices announce: those of hardware's driver, exactly.
inline constexpr std::uint32_t kAnnouncedChanges = abi::kMutableGraphArguments | abi::kMutableGraphArgumentDeprecated;
/// The changes that are carried out.
inline constexpr std::uint32_t kMutableChanges = kAnnouncedChanges | abi::kMutableSignalEvent | abi::kMutableWaitEvents;

/// Reads the descriptor of a queue or an immediate list.
ze_result_t read_queue_descriptor(const ze_command_queue_desc_t& descriptor, Executor::Settings* settings);

namespace calls {

// queue_calls.cpp
ze_result_t queue_create(ze_context_handle_t context, ze_device_handle_t device,
                         const ze_command_queue_desc_t* descriptor, ze_command_queue_handle_t* queue);
ze_result_t queue_destroy(ze_command_queue_handle_t queue);
ze_result_t queue_execute_command_lists(ze_command_queue_handle_t queue, std::uint32_t count,
                                        ze_command_list_handle_t* lists, ze_fence_handle_t fence);
ze_result_t queue_synchronize(ze_command_queue_handle_t queue, std::uint64_t timeout_ns);
ze_result_t queue_get_ordinal(ze_command_queue_handle_t queue, std::uint32_t* ordinal);
ze_result_t queue_get_index(ze_command_queue_handle_t queue, std::uint32_t* index);
ze_result_t queue_set_workload_type(ze_command_queue_handle_t queue, abi::WorkloadType type);
ze_result_t fence_create(ze_command_queue_handle_t queue, const ze_fence_desc_t* descriptor, ze_fence_handle_t* fence);
ze_result_t fence_destroy(ze_fence_handle_t fence);
ze_result_t fence_host_synchronize(ze_fence_handle_t fence, std::uint64_t timeout_ns);
ze_result_t fence_query_status(ze_fence_handle_t fence);
ze_result_t fence_reset(ze_fence_handle_t fence);

// list_calls.cpp
ze_result_t list_create(ze_context_handle_t context, ze_device_handle_t device,
                        const ze_command_list_desc_t* descriptor, ze_command_list_handle_t* list);
ze_result_t list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                  const ze_command_queue_desc_t* descriptor, ze_command_list_handle_t* list);
ze_result_t list_destroy(ze_command_list_handle_t list);
ze_result_t list_close(ze_command_list_handle_t list);
ze_result_t list_reset(ze_command_list_handle_t list);
ze_result_t list_host_synchronize(ze_command_list_handle_t list, std::uint64_t timeout_ns);
ze_result_t list_get_device(ze_command_list_handle_t list, ze_device_handle_t* device);
ze_result_t list_get_context(ze_command_list_handle_t list, ze_context_handle_t* context);
ze_result_t list_get_ordinal(ze_command_list_handle_t list, std::uint32_t* ordinal);
ze_result_t list_get_index(ze_command_list_handle_t list, std::uint32_t* index);
ze_result_t list_is_immediate(ze_command_list_handle_t list, ze_bool_t* immediate);
ze_result_t list_append_lists(ze_command_list_handle_t immediate, std::uint32_t count, ze_command_list_handle_t* lists,
                              ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t list_get_next_command_id(ze_command_list_handle_t list, const abi::MutableCommandId* descriptor,
                                     std::uint64_t* id);
ze_result_t list_update_mutable_commands(ze_command_list_handle_t list, const abi::MutableCommands* changes);
ze_result_t list_update_mutable_signal_event(ze_command_list_handle_t list, std::uint64_t id, ze_event_handle_t signal);
ze_result_t list_update_mutable_wait_events(ze_command_list_handle_t list, std::uint64_t id, std::uint32_t count,
                                            ze_event_handle_t* waits);

/// Ends the submission that contains the list; see CommandList::cancel. Part of abi::kCancelExtension.
ze_result_t list_cancel(ze_command_list_handle_t list);

// command_calls.cpp
ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t wait_count,
                           ze_event_handle_t* waits);
ze_result_t append_memory_ranges_barrier(ze_command_list_handle_t list, std::uint32_t count, const std::size_t* sizes,
                                         const void** ranges, ze_event_handle_t signal, std::uint32_t wait_count,
                                         ze_event_handle_t* waits);
ze_result_t append_memory_copy(ze_command_list_handle_t list, void* destination, const void* source, std::size_t size,
                               ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t append_memory_copy_from_context(ze_command_list_handle_t list, void* destination,
                                            ze_context_handle_t source_context, const void* source, std::size_t size,
                                            ze_event_handle_t signal, std::uint32_t wait_count,
                                            ze_event_handle_t* waits);
ze_result_t append_memory_copy_region(ze_command_list_handle_t list, void* destination,
                                      const ze_copy_region_t* to_region, std::uint32_t to_pitch,
                                      std::uint32_t to_slice_pitch, const void* source,
                                      const ze_copy_region_t* from_region, std::uint32_t from_pitch,
                                      std::uint32_t from_slice_pitch, ze_event_handle_t signal,
                                      std::uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t append_memory_fill(ze_command_list_handle_t list, void* data, const void* pattern, std::size_t pattern_size,
                               std::size_t size, ze_event_handle_t signal, std::uint32_t wait_count,
                               ze_event_handle_t* waits);
ze_result_t append_memory_prefetch(ze_command_list_handle_t list, const void* data, std::size_t size);
ze_result_t append_mem_advise(ze_command_list_handle_t list, ze_device_handle_t device, const void* data,
                              std::size_t size, ze_memory_advice_t advice);
ze_result_t append_signal_event(ze_command_list_handle_t list, ze_event_handle_t event);
ze_result_t append_wait_on_events(ze_command_list_handle_t list, std::uint32_t count, ze_event_handle_t* events);
ze_result_t append_event_reset(ze_command_list_handle_t list, ze_event_handle_t event);
ze_result_t append_write_global_timestamp(ze_command_list_handle_t list, std::uint64_t* destination,
                                          ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t append_query_kernel_timestamps(ze_command_list_handle_t list, std::uint32_t count,
                                           ze_event_handle_t* events, void* destination, const std::size_t* offsets,
                                           ze_event_handle_t signal, std::uint32_t wait_count,
                                           ze_event_handle_t* waits);

// event_calls.cpp
ze_result_t event_pool_create(ze_context_handle_t context, const ze_event_pool_desc_t* descriptor, std::uint32_t count,
                              ze_device_handle_t* devices, ze_event_pool_handle_t* pool);
ze_result_t event_pool_destroy(ze_event_pool_handle_t pool);
ze_result_t event_pool_get_context(ze_event_pool_handle_t pool, ze_context_handle_t* context);
ze_result_t event_pool_get_flags(ze_event_pool_handle_t pool, ze_event_pool_flags_t* flags);
ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t* descriptor, ze_event_handle_t* event);
ze_result_t event_destroy(ze_event_handle_t event);
ze_result_t event_host_signal(ze_event_handle_t event);
ze_result_t event_host_synchronize(ze_event_handle_t event, std::uint64_t timeout_ns);
ze_result_t event_query_status(ze_event_handle_t event);
ze_result_t event_host_reset(ze_event_handle_t event);
ze_result_t event_query_kernel_timestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t* timestamps);
ze_result_t event_query_kernel_timestamps_ext(ze_event_handle_t event, ze_device_handle_t device, std::uint32_t* count,
                                              abi::KernelTimestampResults* results);
ze_result_t event_get_pool(ze_event_handle_t event, ze_event_pool_handle_t* pool);
ze_result_t event_get_signal_scope(ze_event_handle_t event, ze_event_scope_flags_t* scope);
ze_result_t event_get_wait_scope(ze_event_handle_t event, ze_event_scope_flags_t* scope);

}  // namespace calls
}  // namespace tenon::npu
