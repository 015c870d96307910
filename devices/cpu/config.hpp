// SPDX-License-Identifier: Apache-2.0
// Settings of the CPU device and of its compiled models, and values derived from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/devices/cpu/placement.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon::inline v1::cpu_device {

/// The settings of users.
struct Config {
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;
  std::uint32_t num_requests = 0;  ///< 0: unknown. More streams than requests would idle.
  streams::Num num_streams = streams::AUTO;
  std::int32_t threads = 0;  ///< 0: all CPUs of the process.
  bool profiling = false;
  element::Type precision = element::dynamic;  ///< dynamic: the execution mode decides.
  hint::ExecutionMode execution_mode = hint::ExecutionMode::PERFORMANCE;
  std::uint64_t dynamic_quantization = 0;  ///< 0: off. Without effect if accuracy is requested.
  /// Types of the attention's caches; dynamic: `kv_cache` applies to both, or else the type of the computation.
  element::Type kv_cache = element::dynamic, key_cache = element::dynamic, value_cache = element::dynamic;
  std::uint64_t key_group = 0, value_group = 0;
  Placement placement;
  Inert inert;
  std::string device_id;
  std::string weights_path;
  bool weightless = false;

  /// The engine's compute type. By default bf16 if the CPU multiplies it natively, unless accuracy is requested. There are no kernels of f16: f32
  /// takes its place, as in OpenVINO on CPUs that do not multiply it.
  ElementType compute_type() const {
    if (precision == element::bf16) return ElementType::kBf16;
    if (precision == element::f32 || precision == element::f16 || execution_mode == hint::ExecutionMode::ACCURACY)
      return ElementType::kF32;
    return engine::has_native_bf16() ? ElementType::kBf16 : ElementType::kF32;
  }

  /// Group size in which matrix products with weights of 4 and 8 bits round their left operand to 8 bits. 0: no
  /// rounding.
  std::uint64_t rounding_group() const {
    return execution_mode == hint::ExecutionMode::ACCURACY ? 0 : dynamic_quantization;
  }

  ElementType key_cache_type() const { return cache_type(key_cache); }
  ElementType value_cache_type() const { return cache_type(value_cache); }
  /// The type of both caches, if they are equal.
  element::Type kv_cache_precision() const {
    return key_cache_type() == value_cache_type() ? element::Type(key_cache_type()) : element::dynamic;
  }

  int total_threads() const { return threads > 0 ? threads : placement.cpu_count(); }

  /// Number of parallel executions. For throughput each has few threads, because sharing one inference among many costs
  /// more than it gains.
  int stream_count() const {
    if (num_streams >= 0) return num_streams;
    if (mode == hint::PerformanceMode::LATENCY) return 1;
    const int total = total_threads();
    // One thread each while all working sets fit the caches: on 16 cores, 16 streams of the zoo beat 8 of two threads.
    const int each = total <= 16 ? 1 : total <= 32 ? 2 : 4;
    int count = std::max(1, total / each);
    if (num_requests > 0) count = std::min(count, static_cast<int>(num_requests));
    return count;
  }
  int threads_per_stream() const { return std::max(1, total_threads() / std::max(1, stream_count())); }

  /// Declares the settings in a device's property table.
  void declare(PropertyTable& table) {
    table.add_value(hint::performance_mode, mode);
    table.add_value(hint::num_requests, num_requests);
    add_checked(
        table, tenon::num_streams, num_streams, [](streams::Num value) { return value >= -2; },
        "AUTO, NUMA or a number of at least 0");
    add_checked(
        table, inference_num_threads, threads, [](std::int32_t value) { return value >= 0; },
        "at least 0, where 0 means all CPUs");
    table.add_value(enable_profiling, profiling);
    table.add_value(hint::execution_mode, execution_mode);
    table.add_value(hint::dynamic_quantization_group_size, dynamic_quantization);
    const auto is_cache_type = [](element::Type type) {
      return type == element::u8 || type == element::u4 || type == element::bf16 || type == element::f16 ||
             type == element::f32 || type == element::dynamic;
    };
    constexpr const char* kCacheTypes = "u8, u4, bf16, f16, f32 or dynamic, which leaves the choice to the device";
    add_checked(table, hint::kv_cache_precision, kv_cache, is_cache_type, kCacheTypes);
    add_checked(table, key_cache_precision, key_cache, is_cache_type, kCacheTypes);
    add_checked(table, value_cache_precision, value_cache, is_cache_type, kCacheTypes);
    table.add_value(key_cache_group_size, key_group);
    table.add_value(value_cache_group_size, value_group);
    placement.declare(table);
    inert.declare(table);
    add_checked(
        table, device::id, device_id, [](const std::string& value) { return value.empty() || value == "0"; },
        "the CPU: there is one CPU device, without an id");
    table.add_value(enable_weightless, weightless);
    table.add(
        PropertyName(tenon::weights_path.name(), PropertyMutability::WO), [this] { return Any(weights_path); },
        [this](const Any& value, bool apply) {
          std::string path = value.as<std::string>();
          if (apply) weights_path = std::move(path);
        });
    add_checked(
        table, hint::inference_precision, precision,
        [](element::Type value) {
          return value == element::f32 || value == element::f16 || value == element::bf16 || value == element::dynamic;
        },
        "f32, f16, bf16 or dynamic, which leaves the choice to the device");
  }

 private:
  ElementType cache_type(element::Type own) const {
    const element::Type wanted = own == element::dynamic ? kv_cache : own;
    if (wanted == element::dynamic) return compute_type();
    // There is no kernel for 4 bits: 8 are more exact.
    return wanted == element::u4 ? ElementType::kU8 : static_cast<ElementType>(wanted);
  }

  template <typename T, typename Accept>
  static void add_checked(PropertyTable& table, const Property<T>& property, T& variable, Accept accept,
                          const char* wanted) {
    table.add(
        property, [&variable] { return Any(variable); },
        [&variable, accept, wanted](const Any& value, bool apply) {
          T parsed = value.as<T>();
          if (!accept(parsed)) throw Error(Code::kInvalidArgument, "\"" + value.to_text() + "\" is not " + wanted);
          if (apply) variable = parsed;
        });
  }
};

}  // namespace tenon::inline v1::cpu_device
