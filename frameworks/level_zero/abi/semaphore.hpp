// SPDX-License-Identifier: Apache-2.0
// External semaphores, 1.0 (API 1.12): command lists signal and wait for semaphores of other APIs.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kSemaphoreExtension[] = "ZE_extension_external_semaphores";
inline constexpr std::uint32_t kSemaphoreVersion = version(1, 0);

using SemaphoreHandle = struct OpaqueSemaphore*;

enum SemaphoreType : std::uint32_t {
  kSemaphoreOpaqueFd = 1u << 0,
  kSemaphoreOpaqueWin32 = 1u << 1,
  kSemaphoreOpaqueWin32Kmt = 1u << 2,
  kSemaphoreD3d12Fence = 1u << 3,
  kSemaphoreD3d11Fence = 1u << 4,
  kSemaphoreKeyedMutex = 1u << 5,
  kSemaphoreKeyedMutexKmt = 1u << 6,
  kSemaphoreVulkanTimelineFd = 1u << 7,
  kSemaphoreVulkanTimelineWin32 = 1u << 8,
};

struct SemaphoreDescriptor {
  std::uint32_t stype = 0x00020022;
  const void* next = nullptr;
  std::uint32_t flags = 0;  ///< One SemaphoreType.
};
static_assert(sizeof(SemaphoreDescriptor) == 24);

/// Follows a SemaphoreDescriptor. The file descriptor stays the client's.
struct SemaphoreFd {
  std::uint32_t stype = 0x00020024;
  const void* next = nullptr;
  int fd = -1;
};
static_assert(sizeof(SemaphoreFd) == 24 && offsetof(SemaphoreFd, fd) == 16);

struct SemaphoreSignal {
  std::uint32_t stype = 0x00020025;
  const void* next = nullptr;
  std::uint64_t value = 0;
};
static_assert(sizeof(SemaphoreSignal) == 24);

struct SemaphoreWait {
  std::uint32_t stype = 0x00020026;
  const void* next = nullptr;
  std::uint64_t value = 0;
};
static_assert(sizeof(SemaphoreWait) == 24);

using DeviceImportExternalSemaphoreExt = ze_result_t(ZE_APICALL*)(ze_device_handle_t, const SemaphoreDescriptor*,
                                                                  SemaphoreHandle*);
using DeviceReleaseExternalSemaphoreExt = ze_result_t(ZE_APICALL*)(SemaphoreHandle);
using CommandListAppendSignalExternalSemaphoreExt = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t,
                                                                             std::uint32_t count, SemaphoreHandle*,
                                                                             SemaphoreSignal*, ze_event_handle_t signal,
                                                                             std::uint32_t wait_count,
                                                                             ze_event_handle_t* waits);
using CommandListAppendWaitExternalSemaphoreExt = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t,
                                                                           std::uint32_t count, SemaphoreHandle*,
                                                                           SemaphoreWait*, ze_event_handle_t signal,
                                                                           std::uint32_t wait_count,
                                                                           ze_event_handle_t* waits);

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
