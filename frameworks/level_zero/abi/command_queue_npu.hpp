// SPDX-License-Identifier: Apache-2.0
// The command-queue extension of NPUs, 1.0 and 1.1: turbo, synchronisation on the device, workload types.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kCommandQueueNpuExtension[] = "ZE_extension_command_queue_npu";
inline constexpr std::uint32_t kCommandQueueNpuVersion = version(1, 1);

/// Values of stype; specific to the extension, and overlapping those of the core.
enum class CommandQueueNpuStructure : std::uint32_t { kDescriptor = 0x1, kDescriptor2 = 0x2 };

/// Follows a ze_command_queue_desc_t.
struct CommandQueueNpuDescriptor {
  CommandQueueNpuStructure stype = CommandQueueNpuStructure::kDescriptor;
  const void* next = nullptr;
  std::uint8_t turbo = 0;  ///< A C bool, stored as a byte: clients may write values above 1.
};
static_assert(sizeof(CommandQueueNpuDescriptor) == 24 && offsetof(CommandQueueNpuDescriptor, turbo) == 16);

enum CommandQueueOption : std::uint32_t {
  kCommandQueueTurbo = 1u << 0,
  kCommandQueueDeviceSync = 1u << 1,  ///< Submissions run in order without the host.
};

/// 1.1. Follows a ze_command_queue_desc_t.
struct CommandQueueNpuDescriptor2 {
  CommandQueueNpuStructure stype = CommandQueueNpuStructure::kDescriptor2;
  const void* next = nullptr;
  std::uint32_t options = 0;  ///< CommandQueueOption bits.
};
static_assert(sizeof(CommandQueueNpuDescriptor2) == 24 && offsetof(CommandQueueNpuDescriptor2, options) == 16);

enum class WorkloadType : std::uint32_t { kDefault = 0, kBackground = 1 };

/// Returned by zeDriverGetExtensionFunctionAddress for kCommandQueueNpuExtension.
struct CommandQueueNpuTable {
  ze_result_t(ZE_APICALL* set_workload_type)(ze_command_queue_handle_t, WorkloadType);
};
static_assert(sizeof(CommandQueueNpuTable) == sizeof(void*));

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
