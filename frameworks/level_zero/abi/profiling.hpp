// SPDX-License-Identifier: Apache-2.0
// The graph profiling extension 1.0: times of a graph's run, by layer and by task.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kProfilingExtension[] = "ZE_extension_profiling_data";
inline constexpr std::uint32_t kProfilingVersion = version(1, 0);

using GraphHandle = struct OpaqueGraph*;
using ProfilingPoolHandle = struct OpaqueProfilingPool*;
using ProfilingQueryHandle = struct OpaqueProfilingQuery*;

enum class ProfilingStructure : std::uint32_t { kDeviceProperties = 0x1 };

enum class ProfilingType : std::uint32_t { kLayer = 0x1, kTask = 0x2, kRaw = 0x4 };

enum class LayerStatus : std::uint32_t { kNotRun = 1, kOptimizedOut = 2, kExecuted = 3 };

enum class TaskExecuteType : std::uint32_t { kNone = 0, kDpu = 1, kSw = 2, kDma = 3 };

inline constexpr std::size_t kMaxLayerName = 256;
inline constexpr std::size_t kMaxLayerType = 50;

struct LayerInfo {
  char name[kMaxLayerName] = {};
  char layer_type[kMaxLayerType] = {};
  LayerStatus status = LayerStatus::kNotRun;
  std::uint64_t start_time_ns = 0;
  std::uint64_t duration_ns = 0;  ///< From the first task's start to the last one's end.
  std::uint32_t layer_id = 0;
  std::uint64_t fused_layer_id = 0;
  std::uint64_t dpu_ns = 0;  ///< Sums over the tasks of each kind.
  std::uint64_t sw_ns = 0;
  std::uint64_t dma_ns = 0;
};
static_assert(sizeof(LayerInfo) == 368 && offsetof(LayerInfo, layer_type) == 256 &&
              offsetof(LayerInfo, status) == 308 && offsetof(LayerInfo, start_time_ns) == 312 &&
              offsetof(LayerInfo, layer_id) == 328 && offsetof(LayerInfo, fused_layer_id) == 336 &&
              offsetof(LayerInfo, dma_ns) == 360);

struct TaskInfo {
  char name[kMaxLayerName] = {};
  char layer_type[kMaxLayerType] = {};
  TaskExecuteType execute_type = TaskExecuteType::kNone;
  std::uint64_t start_time_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t active_cycles = 0;
  std::uint32_t stall_cycles = 0;
  std::uint32_t task_id = 0;
  std::uint32_t parent_layer_id = 0;
};
static_assert(sizeof(TaskInfo) == 344 && offsetof(TaskInfo, execute_type) == 308 &&
              offsetof(TaskInfo, active_cycles) == 328 && offsetof(TaskInfo, parent_layer_id) == 340);

struct DeviceProfilingProperties {
  ProfilingStructure stype = ProfilingStructure::kDeviceProperties;
  void* next = nullptr;
  std::uint32_t extension_version = 0;
};
static_assert(sizeof(DeviceProfilingProperties) == 24);

/// Returned by zeDriverGetExtensionFunctionAddress for kProfilingExtension.
struct ProfilingTable {
  ze_result_t(ZE_APICALL* pool_create)(GraphHandle, std::uint32_t count, ProfilingPoolHandle*);
  ze_result_t(ZE_APICALL* pool_destroy)(ProfilingPoolHandle);
  ze_result_t(ZE_APICALL* query_create)(ProfilingPoolHandle, std::uint32_t index, ProfilingQueryHandle*);
  ze_result_t(ZE_APICALL* query_destroy)(ProfilingQueryHandle);
  ze_result_t(ZE_APICALL* query_get_data)(ProfilingQueryHandle, ProfilingType, std::uint32_t* size, std::uint8_t* data);
  ze_result_t(ZE_APICALL* device_get_properties)(ze_device_handle_t, DeviceProfilingProperties*);
  ze_result_t(ZE_APICALL* log_get_string)(ProfilingQueryHandle, std::uint32_t* size, char* log);
};
static_assert(sizeof(ProfilingTable) == 7 * sizeof(void*));

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
