// SPDX-License-Identifier: Apache-2.0
// The properties that devices, compiled models and Core know, with OpenVINO's keys and value types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {

class Model;

inline constexpr Property<std::vector<PropertyName>, PropertyMutability::RO> supported_properties{
    "SUPPORTED_PROPERTIES"};
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> available_devices{"AVAILABLE_DEVICES"};
inline constexpr Property<std::string, PropertyMutability::RO> model_name{"NETWORK_NAME"};
inline constexpr Property<std::uint32_t, PropertyMutability::RO> optimal_number_of_infer_requests{
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS"};

/// The policy for set_tensor and set_frame if a device can't use memory in place. Tenon's own; set on Core or in a compile
/// call.
inline constexpr Property<ZeroCopy> zero_copy{"TENON_ZERO_COPY"};
TENON_ENUM_TEXT(ZeroCopy, "zero-copy policy",
                {{ZeroCopy::kRequire, "require"}, {ZeroCopy::kPrefer, "prefer"}, {ZeroCopy::kAllow, "allow"}})

namespace hint {
inline constexpr Property<element::Type> inference_precision{"INFERENCE_PRECISION_HINT"};

enum class Priority { LOW = 0, MEDIUM = 1, HIGH = 2, DEFAULT = MEDIUM };
TENON_ENUM_TEXT(
    Priority, "model priority",
    {{Priority::LOW, "LOW"}, {Priority::MEDIUM, "MEDIUM"}, {Priority::HIGH, "HIGH"}, {Priority::DEFAULT, "DEFAULT"}})
inline constexpr Property<Priority> model_priority{"MODEL_PRIORITY"};

enum class PerformanceMode {
  LATENCY = 1,                ///< Lowest latency of one inference.
  THROUGHPUT = 2,             ///< Most inferences per second, over several requests.
  CUMULATIVE_THROUGHPUT = 3,  ///< As THROUGHPUT, over all devices.
};
TENON_ENUM_TEXT(PerformanceMode, "performance mode",
                {{PerformanceMode::LATENCY, "LATENCY"},
                 {PerformanceMode::THROUGHPUT, "THROUGHPUT"},
                 {PerformanceMode::CUMULATIVE_THROUGHPUT, "CUMULATIVE_THROUGHPUT"}})
inline constexpr Property<PerformanceMode> performance_mode{"PERFORMANCE_HINT"};

enum class SchedulingCoreType { ANY_CORE = 0, PCORE_ONLY = 1, ECORE_ONLY = 2 };
TENON_ENUM_TEXT(SchedulingCoreType, "core type",
                {{SchedulingCoreType::ANY_CORE, "ANY_CORE"},
                 {SchedulingCoreType::PCORE_ONLY, "PCORE_ONLY"},
                 {SchedulingCoreType::ECORE_ONLY, "ECORE_ONLY"}})
inline constexpr Property<SchedulingCoreType> scheduling_core_type{"SCHEDULING_CORE_TYPE"};

enum class ModelDistributionPolicy { TENSOR_PARALLEL = 0, PIPELINE_PARALLEL = 1 };
TENON_ENUM_TEXT(ModelDistributionPolicy, "model distribution policy",
                {{ModelDistributionPolicy::TENSOR_PARALLEL, "TENSOR_PARALLEL"},
                 {ModelDistributionPolicy::PIPELINE_PARALLEL, "PIPELINE_PARALLEL"}})
inline constexpr Property<std::set<ModelDistributionPolicy>> model_distribution_policy{"MODEL_DISTRIBUTION_POLICY"};

inline constexpr Property<bool> enable_cpu_pinning{"ENABLE_CPU_PINNING"};
inline constexpr Property<bool> enable_cpu_reservation{"ENABLE_CPU_RESERVATION"};
inline constexpr Property<bool> enable_hyper_threading{"ENABLE_HYPER_THREADING"};
inline constexpr Property<std::uint32_t> num_requests{"PERFORMANCE_HINT_NUM_REQUESTS"};
inline constexpr Property<std::shared_ptr<const Model>> model{"MODEL_PTR"};
inline constexpr Property<bool> allow_auto_batching{"ALLOW_AUTO_BATCHING"};

enum class ExecutionMode {
  PERFORMANCE = 1,  ///< May lower the precision.
  ACCURACY = 2,
};
TENON_ENUM_TEXT(ExecutionMode, "execution mode",
                {{ExecutionMode::PERFORMANCE, "PERFORMANCE"}, {ExecutionMode::ACCURACY, "ACCURACY"}})
inline constexpr Property<ExecutionMode> execution_mode{"EXECUTION_MODE_HINT"};

inline constexpr Property<std::uint64_t> dynamic_quantization_group_size{"DYNAMIC_QUANTIZATION_GROUP_SIZE"};
inline constexpr Property<element::Type> kv_cache_precision{"KV_CACHE_PRECISION"};
inline constexpr Property<float> activations_scale_factor{"ACTIVATIONS_SCALE_FACTOR"};
inline constexpr Property<Tensor> compiled_blob{"COMPILED_BLOB"};
}  // namespace hint

inline constexpr Property<bool> enable_profiling{"PERF_COUNT"};

namespace log {
enum class Level { NO = -1, ERR = 0, WARNING = 1, INFO = 2, DEBUG = 3, TRACE = 4 };
TENON_ENUM_TEXT(Level, "log level",
                {{Level::NO, "LOG_NONE"},
                 {Level::ERR, "LOG_ERROR"},
                 {Level::WARNING, "LOG_WARNING"},
                 {Level::INFO, "LOG_INFO"},
                 {Level::DEBUG, "LOG_DEBUG"},
                 {Level::TRACE, "LOG_TRACE"}})
inline constexpr Property<Level> level{"LOG_LEVEL"};
}  // namespace log

/// Names of the properties whose values a compiled-model cache entry depends on.
inline constexpr Property<std::vector<PropertyName>, PropertyMutability::RO> caching_properties{"CACHING_PROPERTIES"};
/// Tenon's own, on Core: limit in bytes for the entries of a cache folder together; the least recently used are removed
/// first. 0 (the default) means no limit.
inline constexpr Property<std::uint64_t> cache_size_limit{"TENON_CACHE_SIZE_LIMIT"};
inline constexpr Property<std::string> cache_dir{"CACHE_DIR"};
inline constexpr Property<std::filesystem::path> cache_path{"CACHE_PATH"};
inline constexpr Property<bool, PropertyMutability::RO> loaded_from_cache{"LOADED_FROM_CACHE"};
inline constexpr Property<std::filesystem::path, PropertyMutability::WO> cache_model_path{"CACHE_MODEL_PATH"};
inline constexpr Property<std::uint64_t> cache_blob_id{"CACHE_BLOB_ID"};

enum class WorkloadType { DEFAULT = 0, EFFICIENT = 1 };
TENON_ENUM_TEXT(WorkloadType, "workload type",
                {{WorkloadType::DEFAULT, "DEFAULT"}, {WorkloadType::EFFICIENT, "EFFICIENT"}})
inline constexpr Property<WorkloadType> workload_type{"WORKLOAD_TYPE"};

enum class CacheMode { OPTIMIZE_SIZE = 0, OPTIMIZE_SPEED = 1 };
TENON_ENUM_TEXT(CacheMode, "cache mode",
                {{CacheMode::OPTIMIZE_SIZE, "optimize_size"}, {CacheMode::OPTIMIZE_SPEED, "optimize_speed"}})
inline constexpr Property<CacheMode> cache_mode{"CACHE_MODE"};

struct EncryptionCallbacks {
  std::function<std::string(const std::string&)> encrypt;
  std::function<std::string(const std::string&)> decrypt;
};
inline constexpr Property<bool> enable_weightless{"ENABLE_WEIGHTLESS"};
inline constexpr Property<EncryptionCallbacks, PropertyMutability::WO> cache_encryption_callbacks{
    "CACHE_ENCRYPTION_CALLBACKS"};
inline constexpr Property<std::tuple<unsigned, unsigned>, PropertyMutability::RO> range_for_streams{
    "RANGE_FOR_STREAMS"};
inline constexpr Property<unsigned, PropertyMutability::RO> optimal_batch_size{"OPTIMAL_BATCH_SIZE"};
inline constexpr Property<std::uint32_t, PropertyMutability::RO> max_batch_size{"MAX_BATCH_SIZE"};
inline constexpr Property<std::uint32_t> auto_batch_timeout{"AUTO_BATCH_TIMEOUT"};
inline constexpr Property<std::tuple<unsigned, unsigned, unsigned>, PropertyMutability::RO>
    range_for_async_infer_requests{"RANGE_FOR_ASYNC_INFER_REQUESTS"};
inline constexpr Property<bool> force_tbb_terminate{"FORCE_TBB_TERMINATE"};
inline constexpr Property<bool> enable_mmap{"ENABLE_MMAP"};

namespace device {
inline constexpr Property<std::string> id{"DEVICE_ID"};

/// "GPU,CPU" from several names.
struct Priorities : public Property<std::string> {
  using Property<std::string>::Property;
  template <typename... Args>
  std::pair<std::string, Any> operator()(const Args&... names) const {
    std::string text;
    ((text += (text.empty() ? "" : ",") + std::string(names)), ...);
    return {name(), Any(text)};
  }
};
inline constexpr Priorities priorities{"MULTI_DEVICE_PRIORITIES"};

/// Properties within a call that apply to one device only.
struct Properties : public Property<std::map<std::string, AnyMap>> {
  using Property<std::map<std::string, AnyMap>>::Property;
  TENON_API std::pair<std::string, Any> operator()(const AnyMap& config) const;
  TENON_API std::pair<std::string, Any> operator()(const std::string& device, const AnyMap& config) const;
  template <typename... Configs>
  util::EnableIfAllStringAny<std::pair<std::string, Any>, Configs...> operator()(const std::string& device,
                                                                                 Configs&&... configs) const {
    return (*this)(device, AnyMap{std::pair<std::string, Any>(std::forward<Configs>(configs))...});
  }
};
inline constexpr Properties properties{"DEVICE_PROPERTIES"};

inline constexpr Property<std::string, PropertyMutability::RO> full_name{"FULL_DEVICE_NAME"};
inline constexpr Property<std::string, PropertyMutability::RO> architecture{"DEVICE_ARCHITECTURE"};

struct UUID {
  static constexpr std::uint64_t MAX_UUID_SIZE = 16;
  std::array<std::uint8_t, MAX_UUID_SIZE> uuid{};
};
TENON_API std::ostream& operator<<(std::ostream& out, const UUID& value);
TENON_API std::istream& operator>>(std::istream& in, UUID& value);
inline constexpr Property<UUID, PropertyMutability::RO> uuid{"DEVICE_UUID"};

struct LUID {
  static constexpr std::uint64_t MAX_LUID_SIZE = 8;
  std::array<std::uint8_t, MAX_LUID_SIZE> luid{};
};
TENON_API std::ostream& operator<<(std::ostream& out, const LUID& value);
TENON_API std::istream& operator>>(std::istream& in, LUID& value);
inline constexpr Property<LUID, PropertyMutability::RO> luid{"DEVICE_LUID"};

enum class Type { INTEGRATED = 0, DISCRETE = 1 };
TENON_ENUM_TEXT(Type, "device type", {{Type::DISCRETE, "discrete"}, {Type::INTEGRATED, "integrated"}})
inline constexpr Property<Type, PropertyMutability::RO> type{"DEVICE_TYPE"};

/// Giga-operations per second by element type.
inline constexpr Property<std::map<element::Type, float>, PropertyMutability::RO> gops{"DEVICE_GOPS"};

struct PCIInfo {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t function = 0;
};
TENON_API std::ostream& operator<<(std::ostream& out, const PCIInfo& pci);
inline constexpr Property<PCIInfo, PropertyMutability::RO> pci_info{"DEVICE_PCI_INFO"};
inline constexpr Property<float, PropertyMutability::RO> thermal{"DEVICE_THERMAL"};
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> capabilities{"OPTIMIZATION_CAPABILITIES"};

namespace capability {
inline constexpr const char* FP32 = "FP32";
inline constexpr const char* BF16 = "BF16";
inline constexpr const char* FP16 = "FP16";
inline constexpr const char* INT8 = "INT8";
inline constexpr const char* INT16 = "INT16";
inline constexpr const char* BIN = "BIN";
inline constexpr const char* WINOGRAD = "WINOGRAD";
inline constexpr const char* EXPORT_IMPORT = "EXPORT_IMPORT";
/// Tenon's own: the host's CPU computes, as OpenCL does on machines without a GPU. AUTO takes the CPU device before it.
inline constexpr const char* HOST_CPU = "HOST_CPU";
}  // namespace capability
}  // namespace device

namespace streams {
/// A number of streams; AUTO and NUMA leave it to the device.
struct Num {
  using Base = std::tuple<std::int32_t>;
  constexpr Num() = default;
  constexpr Num(std::int32_t value) : num(value) {}
  constexpr operator std::int32_t() const { return num; }
  std::int32_t num = -1;
};
inline constexpr Num AUTO{-1};
inline constexpr Num NUMA{-2};
TENON_API std::ostream& operator<<(std::ostream& out, const Num& value);
TENON_API std::istream& operator>>(std::istream& in, Num& value);
inline constexpr Property<Num> num{"NUM_STREAMS"};
}  // namespace streams

inline constexpr Property<streams::Num> num_streams{"NUM_STREAMS"};
inline constexpr Property<std::int32_t> inference_num_threads{"INFERENCE_NUM_THREADS"};
inline constexpr Property<std::int32_t> compilation_num_threads{"COMPILATION_NUM_THREADS"};
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> execution_devices{"EXECUTION_DEVICES"};
inline constexpr Property<std::string> weights_path{"WEIGHTS_PATH"};
inline constexpr Property<element::Type> key_cache_precision{"KEY_CACHE_PRECISION"};
inline constexpr Property<element::Type> value_cache_precision{"VALUE_CACHE_PRECISION"};
inline constexpr Property<std::uint64_t> key_cache_group_size{"KEY_CACHE_GROUP_SIZE"};
inline constexpr Property<std::uint64_t> value_cache_group_size{"VALUE_CACHE_GROUP_SIZE"};

/// Limits on the resources that models may use, for the whole process; explained in graph/limits.hpp. Set on Core.
namespace limit {
inline constexpr Property<std::uint64_t> nodes{"TENON_LIMIT_NODES"};
inline constexpr Property<std::uint64_t> depth{"TENON_LIMIT_DEPTH"};
inline constexpr Property<std::uint64_t> bytes{"TENON_LIMIT_BYTES"};
inline constexpr Property<std::uint64_t> compile_seconds{"TENON_LIMIT_COMPILE_SECONDS"};
inline constexpr Property<std::uint64_t> infer_seconds{"TENON_LIMIT_INFER_SECONDS"};
}  // namespace limit

enum class CompatibilityCheck { NOT_APPLICABLE = 0, SUPPORTED = 1, UNSUPPORTED = 2 };
TENON_ENUM_TEXT(CompatibilityCheck, "CompatibilityCheck value",
                {{CompatibilityCheck::NOT_APPLICABLE, "NOT_APPLICABLE"},
                 {CompatibilityCheck::SUPPORTED, "SUPPORTED"},
                 {CompatibilityCheck::UNSUPPORTED, "UNSUPPORTED"}})
inline constexpr Property<std::string, PropertyMutability::RO> runtime_requirements{"RUNTIME_REQUIREMENTS"};
inline constexpr Property<CompatibilityCheck, PropertyMutability::RO> compatibility_check{"COMPATIBILITY_CHECK"};

}  // namespace v1
}  // namespace tenon
