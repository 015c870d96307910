// SPDX-License-Identifier: Apache-2.0
// The GPU's own properties, with OpenVINO's names and keys, and those that Tenon adds.
#pragma once

#include <cstddef>
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

/// Bytes that the device's contexts hold now, of the device's own, by kind: "cl_mem" for buffers.
inline constexpr Property<std::map<std::string, std::uint64_t>, PropertyMutability::RO> memory_statistics{
    "GPU_MEMORY_STATISTICS"};
/// A wish that changes nothing: loops run unrolled, always.
inline constexpr Property<bool> enable_loop_unrolling{"GPU_ENABLE_LOOP_UNROLLING"};
/// A wish that changes nothing: there is no Winograd convolution.
inline constexpr Property<bool> disable_winograd_convolution{"GPU_DISABLE_WINOGRAD_CONVOLUTION"};
/// How much of the weights lies in host memory: a wish that changes nothing, all lie in the device's.
inline constexpr Property<std::size_t, PropertyMutability::RW> offload_ratio{"OFFLOAD_RATIO"};

namespace hint {
using ThrottleLevel = tenon::hint::Priority;
/// How eagerly the queues of requests use the device, against power: where it has cl_khr_throttle_hints.
inline constexpr Property<ThrottleLevel> queue_throttle{"GPU_QUEUE_THROTTLE"};
/// The priority of requests' queues among all queues of the device. It has an effect where the device has cl_khr_priority_hints.
inline constexpr Property<tenon::hint::Priority> queue_priority{"GPU_QUEUE_PRIORITY"};
/// The priority of the host's threads: a wish that changes nothing, the host's part is too short for it.
inline constexpr Property<tenon::hint::Priority> host_task_priority{"GPU_HOST_TASK_PRIORITY"};
/// Bytes of the device's memory that nothing of the device's own holds.
inline constexpr Property<std::int64_t> available_device_mem{"AVAILABLE_DEVICE_MEM_SIZE"};
/// NO: the nodes that exporters write for attention stay what they are.
inline constexpr Property<bool> enable_sdpa_optimization{"GPU_ENABLE_SDPA_OPTIMIZATION"};
/// A wish that changes nothing: low-rank updates are plain nodes here.
inline constexpr Property<bool> enable_lora_operation{"GPU_ENABLE_LORA_OPERATION"};
/// A wish that changes nothing: models share kernels, always.
inline constexpr Property<bool> enable_kernels_reuse{"GPU_ENABLE_KERNELS_REUSE"};
/// A wish that changes nothing: nothing is rounded to 8 bits on the way.
inline constexpr Property<std::uint64_t, PropertyMutability::RW> dynamic_quantization_group_size_max{
    "GPU_DYNAMIC_QUANTIZATION_GROUP_SIZE_MAX"};
/// A wish that changes nothing: a buffer is as large as the device says at most.
inline constexpr Property<bool> enable_large_allocations{"GPU_ENABLE_LARGE_ALLOCATIONS"};
}  // namespace hint

/// Values in OPTIMIZATION_CAPABILITIES that only this device has.
namespace capability {
inline constexpr auto HW_MATMUL = "GPU_HW_MATMUL";
inline constexpr auto USM_MEMORY = "GPU_USM_MEMORY";
}  // namespace capability

/// Where an input's tensor lies, for InputTensorInfo::set_memory_type.
namespace memory_type {
inline constexpr auto surface = "GPU_SURFACE";  ///< Images: the planes of a picture.
inline constexpr auto buffer = "GPU_BUFFER";
}  // namespace memory_type

}  // namespace intel_gpu

/// What Tenon adds.
namespace gpu {

/// How the kernels of an inference get into the queue: one of `launch`. A compiled model answers which it is.
inline constexpr Property<std::string> launches{"GPU_LAUNCHES"};

namespace launch {
/// The model's first inferences try what the device offers, and the one that costs the host least stays.
inline constexpr auto automatic = "AUTO";
/// Each is enqueued, and the device begins with the first.
inline constexpr auto singly = "SINGLY";
/// Each is enqueued, and the device begins when the last one is there: for CPUs, whose workers else disturb the caller.
inline constexpr auto held = "HELD";
/// cl_khr_command_buffer: recorded once and enqueued as one command, but for kernels that use an application's memory.
inline constexpr auto command_buffer = "COMMAND_BUFFER";
/// Where the device is CUDA's, too: the same kernels as a CUDA graph, on memory that both have. Inferences on an application's queue,
/// and those with images, several tensors for one input, or an application's own buffers, are enqueued singly.
inline constexpr auto cuda_graph = "CUDA_GRAPH";
}  // namespace launch

/// How long compile_model may measure which kernels suit the device best, in milliseconds: for each distinct convolution and product,
/// some tiles and templates. Results are kept in CACHE_DIR, else in the process. What is not measured when the time is over stays the rules'
/// choice. 0: rules choose. Models whose shapes move are not measured.
inline constexpr Property<std::uint32_t> tuning_ms{"GPU_TUNING_MS"};
/// What tuning did for a compiled model, "12 problems: 5 known, 6 measured in 812 ms, 1 left to the rules", and why kept results were not
/// used. Empty without GPU_TUNING_MS.
inline constexpr Property<std::string, PropertyMutability::RO> tuning_report{"GPU_TUNING_REPORT"};

}  // namespace gpu
}  // namespace v1
}  // namespace tenon
