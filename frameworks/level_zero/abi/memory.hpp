// SPDX-License-Identifier: Apache-2.0
// Memory calls since API 1.6: IPC handles as file descriptors, atomic accesses, pitches.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

/// Tenon's own: before each command the driver waits for the fences that other devices have attached to its dma-bufs. It
/// has a version and no functions. Linux's driver of Intel's NPUs does not wait for them.
inline constexpr char kImplicitFencesExtension[] = "ZE_extension_tenon_implicit_fences";

using MemPutIpcHandle = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_ipc_mem_handle_t);  // 1.6
using MemGetIpcHandleFromFileDescriptorExp = ze_result_t(ZE_APICALL*)(ze_context_handle_t, std::uint64_t fd,
                                                                      ze_ipc_mem_handle_t*);
using MemGetFileDescriptorFromIpcHandleExp = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_ipc_mem_handle_t,
                                                                      std::uint64_t* fd);
using MemSetAtomicAccessAttributeExp = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_device_handle_t,
                                                                const void* data, std::size_t size,
                                                                std::uint32_t flags);
using MemGetAtomicAccessAttributeExp = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_device_handle_t,
                                                                const void* data, std::size_t size,
                                                                std::uint32_t* flags);
using MemGetPitchFor2dImage = ze_result_t(ZE_APICALL*)(ze_context_handle_t, ze_device_handle_t, std::size_t width_px,
                                                       std::size_t height_px, unsigned int element_size,
                                                       std::size_t* row_pitch);

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
