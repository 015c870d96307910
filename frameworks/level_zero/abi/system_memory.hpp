// SPDX-License-Identifier: Apache-2.0
// The extension that maps system memory (malloc, mmap) into a context, 1.0.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kSystemMemoryExtension[] = "ZE_extension_external_memmap_sysmem";
inline constexpr std::uint32_t kSystemMemoryVersion = version(1, 0);
inline constexpr std::uint32_t kSystemMemoryType = 0x00020037;

/// Follows a ze_host_mem_alloc_desc_t: zeMemAllocHost returns a pointer to this memory, which stays the client's.
/// Address and size must be whole pages; otherwise drivers return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT or
/// ZE_RESULT_ERROR_INVALID_SIZE.
struct ExternalSystemMemory {
  std::uint32_t stype = kSystemMemoryType;
  const void* next = nullptr;
  void* data = nullptr;
  std::uint64_t size = 0;
};
static_assert(sizeof(ExternalSystemMemory) == 32 && offsetof(ExternalSystemMemory, data) == 16 &&
              offsetof(ExternalSystemMemory, size) == 24);

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
