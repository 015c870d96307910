// SPDX-License-Identifier: Apache-2.0
// Mutable command lists, experimental 1.1: changes arguments of a closed list's commands without recording it again.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kMutableListExtension[] = "ZE_experimental_mutable_command_list";
inline constexpr std::uint32_t kMutableListVersion = version(1, 1);

/// Values of stype, in the numbering of ze_structure_type_t.
inline constexpr std::uint32_t kMutableListPropertiesType = 0x00020015;
inline constexpr std::uint32_t kMutableListDescriptorType = 0x00020016;
inline constexpr std::uint32_t kMutableCommandIdType = 0x00020017;
inline constexpr std::uint32_t kMutableCommandsType = 0x00020018;
inline constexpr std::uint32_t kMutableKernelArgumentType = 0x00020019;
inline constexpr std::uint32_t kMutableGroupCountType = 0x0002001A;
inline constexpr std::uint32_t kMutableGroupSizeType = 0x0002001B;
inline constexpr std::uint32_t kMutableGlobalOffsetType = 0x0002001C;
inline constexpr std::uint32_t kMutableGraphArgumentType = 0x00020020;
/// Type and flag of a graph argument in drivers of the mutable-list extension 1.0.
inline constexpr std::uint32_t kMutableGraphArgumentTypeDeprecated = 0x7;
inline constexpr std::uint32_t kMutableGraphArgumentDeprecated = 1u << 6;

enum MutableCommandFlag : std::uint32_t {
  kMutableKernelArguments = 1u << 0,
  kMutableGroupCount = 1u << 1,
  kMutableGroupSize = 1u << 2,
  kMutableGlobalOffset = 1u << 3,
  kMutableSignalEvent = 1u << 4,
  kMutableWaitEvents = 1u << 5,
  kMutableKernelInstruction = 1u << 6,  ///< 1.1
  kMutableGraphArguments = 1u << 7,     ///< 1.1
};

/// Follows ze_device_properties_t.
struct MutableListProperties {
  std::uint32_t stype = kMutableListPropertiesType;
  void* next = nullptr;
  std::uint32_t list_flags = 0;
  std::uint32_t command_flags = 0;  ///< MutableCommandFlag bits that the device can change.
};
static_assert(sizeof(MutableListProperties) == 24 && offsetof(MutableListProperties, command_flags) == 20);

/// Follows ze_command_list_desc_t: the list is a mutable one.
struct MutableListDescriptor {
  std::uint32_t stype = kMutableListDescriptorType;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
static_assert(sizeof(MutableListDescriptor) == 24);

/// Passed to zeCommandListGetNextCommandIdExp: the next appended command gets an id.
struct MutableCommandId {
  std::uint32_t stype = kMutableCommandIdType;
  const void* next = nullptr;
  std::uint32_t flags = 0;  ///< MutableCommandFlag bits; 0: all but kMutableKernelInstruction.
};
static_assert(sizeof(MutableCommandId) == 24 && offsetof(MutableCommandId, flags) == 16);

/// Passed to zeCommandListUpdateMutableCommandsExp; the changes follow it.
struct MutableCommands {
  std::uint32_t stype = kMutableCommandsType;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
static_assert(sizeof(MutableCommands) == 24);

/// The beginning of every change.
struct MutableChange {
  std::uint32_t stype;
  const void* next;
  std::uint64_t command_id;
};
static_assert(sizeof(MutableChange) == 24 && offsetof(MutableChange, command_id) == 16);

struct MutableKernelArgument {
  std::uint32_t stype = kMutableKernelArgumentType;
  const void* next = nullptr;
  std::uint64_t command_id = 0;
  std::uint32_t index = 0;
  std::size_t size = 0;
  const void* value = nullptr;
};
static_assert(sizeof(MutableKernelArgument) == 48 && offsetof(MutableKernelArgument, value) == 40);

/// 1.1. Clients use kMutableGraphArgumentType with drivers of API 1.11 and later, the deprecated type with older ones.
/// Since graph extension 1.15 an ArgumentStrides may follow it, before the next change.
struct MutableGraphArgument {
  std::uint32_t stype = kMutableGraphArgumentType;
  const void* next = nullptr;
  std::uint64_t command_id = 0;
  std::uint32_t index = 0;
  const void* value = nullptr;  ///< The tensor's memory.
};
static_assert(sizeof(MutableGraphArgument) == 40 && offsetof(MutableGraphArgument, index) == 24 &&
              offsetof(MutableGraphArgument, value) == 32);

using CommandListGetNextCommandIdExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, const MutableCommandId*,
                                                                std::uint64_t* command_id);
using CommandListUpdateMutableCommandsExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, const MutableCommands*);
using CommandListUpdateMutableCommandSignalEventExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t,
                                                                               std::uint64_t command_id,
                                                                               ze_event_handle_t);
using CommandListUpdateMutableCommandWaitEventsExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t,
                                                                              std::uint64_t command_id,
                                                                              std::uint32_t count, ze_event_handle_t*);
using CommandListGetNextCommandIdWithKernelsExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t,
                                                                           const MutableCommandId*, std::uint32_t count,
                                                                           ze_kernel_handle_t*,
                                                                           std::uint64_t* command_id);
using CommandListUpdateMutableCommandKernelsExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t,
                                                                           std::uint32_t count,
                                                                           std::uint64_t* command_ids,
                                                                           ze_kernel_handle_t*);
using CommandListIsMutableExp = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_bool_t*);

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
