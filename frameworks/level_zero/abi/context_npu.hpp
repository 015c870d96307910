// SPDX-License-Identifier: Apache-2.0
// The context extension of NPUs, 1.0: what the driver may do with memory while the device is idle.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kContextNpuExtension[] = "ZE_extension_context_npu";
inline constexpr std::uint32_t kContextNpuVersion = version(1, 0);

/// Bit of ze_device_external_memory_properties_t::memoryAllocationImportTypes: the driver accepts memory of malloc and
/// mmap through ExternalSystemMemory (system_memory.hpp).
inline constexpr std::uint32_t kStandardAllocation = 0x100;

enum class ContextNpuStructure : std::uint32_t { kProperties = 0x1 };

enum ContextOption : std::uint32_t { kContextIdleOptimizations = 1u << 0 };

struct ContextNpuProperties {
  ContextNpuStructure stype = ContextNpuStructure::kProperties;
  const void* next = nullptr;
  std::uint32_t options = 0;  ///< ContextOption bits.
};
static_assert(sizeof(ContextNpuProperties) == 24 && offsetof(ContextNpuProperties, options) == 16);

/// Returned by zeDriverGetExtensionFunctionAddress for kContextNpuExtension.
struct ContextNpuTable {
  ze_result_t(ZE_APICALL* set_properties)(ze_context_handle_t, ContextNpuProperties*);
  ze_result_t(ZE_APICALL* release_memory)(ze_context_handle_t);
};
static_assert(sizeof(ContextNpuTable) == 2 * sizeof(void*));

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
