// SPDX-License-Identifier: Apache-2.0
// Properties of the NPU device beside the general ones, with OpenVINO's keys and value types.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/runtime/properties.hpp>  // IWYU pragma: export
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_npu {

/// Which compiler is used: one inside the application's process, or the driver's.
enum class CompilerType { PLUGIN, DRIVER, PREFER_PLUGIN };
TENON_ENUM_TEXT(CompilerType, "compiler type",
                {{CompilerType::PLUGIN, "PLUGIN"},
                 {CompilerType::DRIVER, "DRIVER"},
                 {CompilerType::PREFER_PLUGIN, "PREFER_PLUGIN"}})

/// Platform to compile for ("3720", "4000"), also one that is not in this machine.
inline constexpr Property<std::string> platform{"NPU_PLATFORM"};
/// Device memory in bytes: allocated by the process, and the total that it may allocate.
inline constexpr Property<std::uint64_t, PropertyMutability::RO> device_alloc_mem_size{"NPU_DEVICE_ALLOC_MEM_SIZE"};
inline constexpr Property<std::uint64_t, PropertyMutability::RO> device_total_mem_size{"NPU_DEVICE_TOTAL_MEM_SIZE"};
inline constexpr Property<std::uint32_t, PropertyMutability::RO> driver_version{"NPU_DRIVER_VERSION"};
inline constexpr Property<CompilerType> compiler_type{"NPU_COMPILER_TYPE"};
/// Major number in the upper 16 bits, minor in the lower ones.
inline constexpr Property<std::uint32_t, PropertyMutability::RO> compiler_version{"NPU_COMPILER_VERSION"};
/// "optimization-level=1 performance-hint-override=latency": passed unchanged to the driver's compiler.
inline constexpr Property<std::string> compilation_mode_params{"NPU_COMPILATION_MODE_PARAMS"};
inline constexpr Property<bool> compiler_dynamic_quantization{"NPU_COMPILER_DYNAMIC_QUANTIZATION"};
inline constexpr Property<bool> qdq_optimization{"NPU_QDQ_OPTIMIZATION"};
inline constexpr Property<bool> qdq_optimization_aggressive{"NPU_QDQ_OPTIMIZATION_AGGRESSIVE"};
/// Highest clock that the platform's limits allow.
inline constexpr Property<bool> turbo{"NPU_TURBO"};
/// Tiles to compile for; -1 leaves the number to the compiler.
inline constexpr Property<std::int64_t> tiles{"NPU_TILES"};
/// Tiles of the device. Also accepted as a compile option, for compiling without the device.
inline constexpr Property<std::int64_t, PropertyMutability::RO> max_tiles{"NPU_MAX_TILES"};
/// Bypasses the driver's own cache of compiled models.
inline constexpr Property<bool> bypass_umd_caching{"NPU_BYPASS_UMD_CACHING"};
/// Brings weights to the device with the first request instead of with the compilation.
inline constexpr Property<bool> defer_weights_load{"NPU_DEFER_WEIGHTS_LOAD"};
/// Inferences run one after the other in the order in which they were started.
inline constexpr Property<bool> run_inferences_sequentially{"NPU_RUN_INFERENCES_SEQUENTIALLY"};
/// Keeps the device's memory while it is idle. (OpenVINO's name has this spelling.)
inline constexpr Property<bool> disable_idle_memory_prunning{"NPU_DISABLE_IDLE_MEMORY_PRUNING"};
/// Comma-separated names of the inputs and outputs whose tensors may have strides.
inline constexpr Property<std::string> enable_strides_for{"NPU_ENABLE_STRIDES_FOR"};

}  // namespace intel_npu
}  // namespace v1
}  // namespace tenon
