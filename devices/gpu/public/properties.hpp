// SPDX-License-Identifier: Apache-2.0
// The GPU's own properties, with OpenVINO's names and keys.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <tenon/runtime/properties.hpp>  // IWYU pragma: export
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_gpu {

/// Bytes of the device's memory.
inline constexpr Property<std::uint64_t, PropertyMutability::RO> device_total_mem_size{"GPU_DEVICE_TOTAL_MEM_SIZE"};
/// Bytes of its largest buffer.
inline constexpr Property<std::uint64_t, PropertyMutability::RO> device_max_alloc_mem_size{
    "GPU_DEVICE_MAX_ALLOC_MEM_SIZE"};
/// "3.0.0": the version of OpenCL that it has, where Intel's devices name their architecture.
inline constexpr Property<std::string, PropertyMutability::RO> uarch_version{"GPU_UARCH_VERSION"};
/// Compute units.
inline constexpr Property<std::int32_t, PropertyMutability::RO> execution_units_count{"GPU_EXECUTION_UNITS_COUNT"};
/// Bytes of a line of its cache.
inline constexpr Property<std::uint32_t, PropertyMutability::RO> cacheline_size{"GPU_CACHELINE_SIZE"};

/// Where an input's tensor lies, for InputTensorInfo::set_memory_type.
namespace memory_type {
inline constexpr auto surface = "GPU_SURFACE";  ///< Images: the planes of a picture.
inline constexpr auto buffer = "GPU_BUFFER";
}  // namespace memory_type

}  // namespace intel_gpu
}  // namespace v1
}  // namespace tenon
