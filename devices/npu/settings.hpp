// SPDX-License-Identifier: Apache-2.0
// Settings of the NPU device and of its compiled models, and how they are passed to the driver's compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <tenon/core/element_type.hpp>
#include <tenon/devices/npu/public/properties.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon::inline v1::npu_device {

/// The component that splits a batch: the device (PLUGIN), into inferences of one item, or the driver's compiler.
enum class BatchMode { AUTO, PLUGIN, COMPILER };
TENON_ENUM_TEXT(BatchMode, "batch mode",
                {{BatchMode::AUTO, "AUTO"}, {BatchMode::PLUGIN, "PLUGIN"}, {BatchMode::COMPILER, "COMPILER"}})

/// Granularity of profiling: each layer, or the whole inference.
enum class ProfilingType { MODEL, INFER };
TENON_ENUM_TEXT(ProfilingType, "profiling type", {{ProfilingType::MODEL, "MODEL"}, {ProfilingType::INFER, "INFER"}})

/// Keys of OpenVINO's device that are not in its public headers.
inline constexpr Property<BatchMode> batch_mode{"NPU_BATCH_MODE"};
inline constexpr Property<ProfilingType> profiling_type{"NPU_PROFILING_TYPE"};
inline constexpr Property<bool> disable_version_check{"NPU_DISABLE_VERSION_CHECK"};
inline constexpr Property<bool> import_raw_blob{"NPU_IMPORT_RAW_BLOB"};
inline constexpr Property<bool> export_raw_blob{"NPU_EXPORT_RAW_BLOB"};
inline constexpr Property<bool> exclusive_async_requests{"EXCLUSIVE_ASYNC_REQUESTS"};
inline constexpr Property<std::int64_t> stepping{"NPU_STEPPING"};
inline constexpr Property<std::int64_t> dma_engines{"NPU_DMA_ENGINES"};
inline constexpr Property<std::string> compilation_mode{"NPU_COMPILATION_MODE"};
inline constexpr Property<std::string> backend_compilation_params{"NPU_BACKEND_COMPILATION_PARAMS"};

/// Optional features of the driver: without one, its properties do not exist.
struct Abilities {
  bool turbo = false;
  bool workload_type = false;
  bool sequential = false;
  bool strides = false;
};

/// The settings of users.
struct Settings {
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;
  std::optional<std::uint32_t> num_requests;  ///< Reported as 1 if not set.
  hint::Priority priority = hint::Priority::MEDIUM;
  hint::ExecutionMode execution_mode = hint::ExecutionMode::PERFORMANCE;
  element::Type precision = element::f16;
  streams::Num streams{1};
  std::int32_t compilation_threads = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  bool profiling = false;
  ProfilingType profiling_type = ProfilingType::MODEL;
  bool cpu_pinning = false;
  bool exclusive_requests = false;
  log::Level log_level = log::Level::NO;
  WorkloadType workload = WorkloadType::DEFAULT;
  std::string device_id;
  std::string platform = "AUTO_DETECT";  ///< Empty also selects the device's own.
  intel_npu::CompilerType compiler_type = intel_npu::CompilerType::DRIVER;
  std::string compilation_mode_params;
  std::string compilation_mode;
  std::string backend_compilation_params;
  bool dynamic_quantization = false;
  bool qdq = false;
  bool qdq_aggressive = false;
  bool turbo = false;
  std::int64_t tiles = -1;
  std::int64_t max_tiles = -1;  ///< -1: the device's own.
  std::int64_t stepping = -1;
  std::int64_t dma_engines = -1;
  bool bypass_umd_caching = false;
  bool defer_weights_load = false;
  bool sequential = false;
  bool keep_idle_memory = false;
  std::string strides_for;
  BatchMode batch_mode = BatchMode::AUTO;
  bool disable_version_check = false;
  bool import_raw = false;
  bool export_raw = false;
  std::string cache_dir;
  std::string weights_path;
  bool weightless = false;

  /// Keys that were set, with their values as text, for the compiler.
  std::map<std::string, std::string> given;

  /// Declares the settings in a table, except for properties that `abilities` lacks. The functions supply device values
  /// (max_tiles) for settings that were not set.
  struct Asked {
    std::function<std::int64_t()> max_tiles;
  };
  void declare(PropertyTable& table, const Abilities& abilities, const Asked& asked = {});

  /// Number of requests that keep the device busy, from the documented table, at most num_requests. @param platform  of
  /// the model: "3720", "4000".
  std::uint32_t optimal_requests(const std::string& platform) const;

 private:
  template <typename T, PropertyMutability M>
  void add(PropertyTable& table, const Property<T, M>& property, T& variable, bool for_compiler,
           const std::function<void(const T&)>& check = {}, PropertyMutability listed = PropertyMutability::RW);
};

}  // namespace tenon::inline v1::npu_device
