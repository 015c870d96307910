// SPDX-License-Identifier: Apache-2.0
// Calls and structs of the core API added after 1.4: finding drivers, waiting for lists, querying handles. Each alias
// is the type of the call of that name with the prefix "ze".
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

// Result codes that the packaged enumeration may lack; all in 0x7800001c..0x7800002a.
inline constexpr std::uint32_t kErrorInvalidKernelHandle = 0x7800001c;
inline constexpr std::uint32_t kErrorSurvivabilityMode = 0x78000020;
inline constexpr std::uint32_t kErrorAddressNotFound = 0x78000021;

// 1.10
enum InitDriverType : std::uint32_t { kInitGpu = 1u << 0, kInitNpu = 1u << 1 };

struct InitDriverTypeDescriptor {
  std::uint32_t stype = 0x00020021;
  const void* next = nullptr;
  std::uint32_t flags = 0;  ///< InitDriverType bits; all bits for any driver.
};
static_assert(sizeof(InitDriverTypeDescriptor) == 24 && offsetof(InitDriverTypeDescriptor, flags) == 16);

using InitDrivers = ze_result_t(ZE_APICALL*)(std::uint32_t* count, ze_driver_handle_t*, InitDriverTypeDescriptor*);
using DriverGetLastErrorDescription = ze_result_t(ZE_APICALL*)(ze_driver_handle_t, const char**);  // 1.6
using DriverGetDefaultContext = ze_context_handle_t(ZE_APICALL*)(ze_driver_handle_t);              // 1.14

using DeviceGetRootDevice = ze_result_t(ZE_APICALL*)(ze_device_handle_t, ze_device_handle_t*);  // 1.7
using DeviceSynchronize = ze_result_t(ZE_APICALL*)(ze_device_handle_t);                         // 1.14

/// 1.13, extension kVectorWidthExtension.
struct VectorWidths {
  std::uint32_t stype = 0x00020029;
  void* next = nullptr;
  std::uint32_t bits = 0;
  std::uint32_t preferred_char = 0, preferred_short = 0, preferred_int = 0, preferred_long = 0;
  std::uint32_t preferred_float = 0, preferred_double = 0, preferred_half = 0;
  std::uint32_t native_char = 0, native_short = 0, native_int = 0, native_long = 0;
  std::uint32_t native_float = 0, native_double = 0, native_half = 0;
};
static_assert(sizeof(VectorWidths) == 80 && offsetof(VectorWidths, native_char) == 48 &&
              offsetof(VectorWidths, native_half) == 72);
inline constexpr char kVectorWidthExtension[] = "ZE_extension_device_vector_sizes";
using DeviceGetVectorWidthPropertiesExt = ze_result_t(ZE_APICALL*)(ze_device_handle_t, std::uint32_t* count,
                                                                   VectorWidths*);

/// Follows ze_device_properties_t.
struct DeviceIpVersion {
  std::uint32_t stype = 0x0001000f;
  const void* next = nullptr;
  std::uint32_t version = 0;  ///< The device's own numbering; newer devices have higher ones.
};
static_assert(sizeof(DeviceIpVersion) == 24 && offsetof(DeviceIpVersion, version) == 16);

/// Follows ze_driver_properties_t; extension kDriverHandlesExtension: handles begin with a table of calls.
struct DriverHandleProperties {
  std::uint32_t stype = 0x00020027;
  void* next = nullptr;
  std::uint32_t flags = 0;  ///< Bit 0: handles begin with a table.
};
static_assert(sizeof(DriverHandleProperties) == 24);
inline constexpr char kDriverHandlesExtension[] = "ZE_extension_driver_ddi_handles";

// 1.6 and 1.9: properties of a command list or queue.
using CommandListHostSynchronize = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, std::uint64_t timeout_ns);
using CommandListGetDeviceHandle = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_device_handle_t*);
using CommandListGetContextHandle = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_context_handle_t*);
using CommandListGetOrdinal = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, std::uint32_t*);
using CommandListImmediateGetIndex = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, std::uint32_t*);
using CommandListIsImmediate = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_bool_t*);
using CommandListCreateCloneExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_command_list_handle_t*);
using CommandListImmediateAppendCommandListsExp =
    ze_result_t(ZE_APICALL*)(ze_command_list_handle_t immediate, std::uint32_t count, ze_command_list_handle_t*,
                             ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits);
using CommandListGetFlags = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_command_list_flags_t*);  // 1.17
using CommandQueueGetOrdinal = ze_result_t(ZE_APICALL*)(ze_command_queue_handle_t, std::uint32_t*);
using CommandQueueGetIndex = ze_result_t(ZE_APICALL*)(ze_command_queue_handle_t, std::uint32_t*);
using CommandQueueGetFlags = ze_result_t(ZE_APICALL*)(ze_command_queue_handle_t, ze_command_queue_flags_t*);  // 1.17
using CommandQueueGetMode = ze_result_t(ZE_APICALL*)(ze_command_queue_handle_t, ze_command_queue_mode_t*);
using CommandQueueGetPriority = ze_result_t(ZE_APICALL*)(ze_command_queue_handle_t, ze_command_queue_priority_t*);

/// Flags of queues and lists that the packaged enumerations may lack.
inline constexpr std::uint32_t kQueueInOrder = 1u << 1, kQueueCopyOffloadHint = 1u << 2;
inline constexpr std::uint32_t kListInOrder = 1u << 3, kListCloneable = 1u << 4, kListCopyOffloadHint = 1u << 5;

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
