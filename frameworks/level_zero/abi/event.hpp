// SPDX-License-Identifier: Apache-2.0
// Events since API 1.6: queries, their kernels' timestamps, and counter-based events.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kEventTimestampsExtension[] = "ZE_extension_event_query_kernel_timestamps";
inline constexpr char kCounterBasedPoolExtension[] = "ZE_experimental_event_pool_counter_based";

// 1.9
using EventGetEventPool = ze_result_t(ZE_APICALL*)(ze_event_handle_t, ze_event_pool_handle_t*);
using EventGetSignalScope = ze_result_t(ZE_APICALL*)(ze_event_handle_t, ze_event_scope_flags_t*);
using EventGetWaitScope = ze_result_t(ZE_APICALL*)(ze_event_handle_t, ze_event_scope_flags_t*);
using EventPoolGetContextHandle = ze_result_t(ZE_APICALL*)(ze_event_pool_handle_t, ze_context_handle_t*);
using EventPoolGetFlags = ze_result_t(ZE_APICALL*)(ze_event_pool_handle_t, ze_event_pool_flags_t*);
using EventPoolPutIpcHandle = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_ipc_event_pool_handle_t);  // 1.6

/// Device and host timestamps of one kernel, synchronised; nanoseconds of the host's clock.
struct SynchronizedTimestamps {
  std::uint64_t global_start, global_end, context_start, context_end;
};
static_assert(sizeof(SynchronizedTimestamps) == 32);

struct KernelTimestampResults {
  std::uint32_t stype = 0x10012;
  void* next = nullptr;
  ze_kernel_timestamp_result_t* kernels = nullptr;
  SynchronizedTimestamps* synchronized = nullptr;
};
static_assert(sizeof(KernelTimestampResults) == 32 && offsetof(KernelTimestampResults, synchronized) == 24);
using EventQueryKernelTimestampsExt = ze_result_t(ZE_APICALL*)(ze_event_handle_t, ze_device_handle_t,
                                                               std::uint32_t* count, KernelTimestampResults*);

/// Follows a ze_event_pool_desc_t: events of the pool count instead of being reset.
struct CounterBasedPoolDescriptor {
  std::uint32_t stype = 0x00020014;
  const void* next = nullptr;
  std::uint32_t flags = 0;  ///< Bit 0: for immediate lists, bit 1: for others.
};
static_assert(sizeof(CounterBasedPoolDescriptor) == 24);

enum CounterBasedFlag : std::uint32_t {
  kCounterImmediate = 1u << 0,
  kCounterNonImmediate = 1u << 1,
  kCounterHostVisible = 1u << 2,
  kCounterIpc = 1u << 3,
  kCounterDeviceTimestamp = 1u << 4,
  kCounterHostTimestamp = 1u << 5,
  kCounterGraphExternal = 1u << 6,  ///< 1.17
};

/// 1.15
struct CounterBasedDescriptor {
  std::uint32_t stype = 0x0002003A;
  const void* next = nullptr;
  std::uint32_t flags = 0;  ///< CounterBasedFlag bits.
  ze_event_scope_flags_t signal = 0;
  ze_event_scope_flags_t wait = 0;
};
static_assert(sizeof(CounterBasedDescriptor) == 32 && offsetof(CounterBasedDescriptor, wait) == 24);
using EventCounterBasedCreate = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_device_handle_t,
                                                         const CounterBasedDescriptor*, ze_event_handle_t*);
using EventGetCounterBasedFlags = ze_result_t(ZE_APICALL*)(ze_event_handle_t, std::uint32_t*);  // 1.17

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
