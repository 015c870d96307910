// SPDX-License-Identifier: Apache-2.0
// Settings of the GPU device and of its compiled models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/target.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon::inline v1::gpu_device {

/// What users can set.
struct Config {
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;
  std::uint32_t num_requests = 0;  ///< 0: unknown.
  streams::Num num_streams = streams::AUTO;
  bool profiling = false;
  hint::ExecutionMode execution_mode = hint::ExecutionMode::PERFORMANCE;
  element::Type precision = element::dynamic;
  /// How caches of attention lie; dynamic: `kv_cache` for both, or else as values between kernels do.
  element::Type kv_cache = element::dynamic, key_cache = element::dynamic, value_cache = element::dynamic;
  std::string device_id;
  std::string cache_dir;  ///< Where programs are kept; empty: nowhere.
  hint::Priority queue_priority = hint::Priority::MEDIUM, queue_throttle = hint::Priority::MEDIUM;
  std::int32_t compile_threads = 0;  ///< 0: as many as there are CPUs.
  bool fuses_attention = true;
  std::uint32_t tuning_ms = 0;  ///< 0: rules choose kernels.
  std::string launches = gpu::launch::automatic;
  log::Level log_level = log::Level::WARNING;
  AnyMap wishes;  ///< By key, about how the work is done: see declare_wishes().

  std::uint32_t stream_count() const {
    if (num_streams > 0) return static_cast<std::uint32_t>(static_cast<int>(num_streams));
    return mode == hint::PerformanceMode::LATENCY ? 1 : 2;
  }

  /// f16 if it is asked for; by default where matrices of f16 are much faster, unless accuracy is asked for. Products of 8-bit
  /// numbers if they are asked for; by default where the device is no CPU, where reals have the better kernels.
  Target target_of(Target device) const {
    const bool is_open = precision == element::dynamic || precision == element::i8;
    const bool is_default = is_open && execution_mode == hint::ExecutionMode::PERFORMANCE;
    device.stores_f16 = precision == element::f16 || (is_default && device.matrices != Target::Matrices::kPortable);
    device.multiplies_numbers = precision == element::i8 || (is_open && !device.is_cpu);
    return device;
  }

  ElementType key_cache_type(const Target& target) const { return cache_type(key_cache, target); }
  ElementType value_cache_type(const Target& target) const { return cache_type(value_cache, target); }

  /// One declaration serves reading, writing, checking and SUPPORTED_PROPERTIES.
  void declare(PropertyTable& table) {
    table.add_value(hint::performance_mode, mode);
    table.add_value(hint::num_requests, num_requests);
    table.add_value(tenon::num_streams, num_streams);
    table.add_value(enable_profiling, profiling);
    table.add_value(hint::execution_mode, execution_mode);
    table.add(
        hint::inference_precision, [this] { return Any(precision); },
        [this](const Any& value, bool apply) {
          const auto type = value.as<element::Type>();
          if (type != element::f32 && type != element::f16 && type != element::i8 && type != element::dynamic)
            throw Error(Code::kInvalidArgument, "\"" + value.to_text() + "\" is not f32, f16, i8 or dynamic");
          if (apply) precision = type;
        });
    for (const auto& [property, type] : {std::pair(&hint::kv_cache_precision, &kv_cache),
                                         {&key_cache_precision, &key_cache},
                                         {&value_cache_precision, &value_cache}})
      table.add(
          *property, [type = type] { return Any(*type); },
          [type = type](const Any& value, bool apply) {
            const auto wanted = value.as<element::Type>();
            if (wanted != element::f32 && wanted != element::f16 && wanted != element::u8 && wanted != element::u4 &&
                wanted != element::dynamic)
              throw Error(Code::kInvalidArgument, "\"" + value.to_text() + "\" is not f32, f16, u8, u4 or dynamic");
            if (apply) *type = wanted;
          });
    table.add_value(device::id, device_id);
    table.add_value(tenon::cache_dir, cache_dir);
    table.add_value(intel_gpu::hint::queue_priority, queue_priority);
    table.add_value(intel_gpu::hint::queue_throttle, queue_throttle);
    // OpenVINO's GPU plugin makes the same of it.
    table.add_value(hint::model_priority, queue_priority);
    table.add_value(compilation_num_threads, compile_threads);
    table.add_value(intel_gpu::hint::enable_sdpa_optimization, fuses_attention);
    table.add_value(tenon::gpu::tuning_ms, tuning_ms);
    table.add_value(log::level, log_level);
    table.add(
        gpu::launches, [this] { return Any(launches); },
        [this](const Any& value, bool apply) {
          const auto text = value.as<std::string>();
          if (text != gpu::launch::automatic && text != gpu::launch::singly && text != gpu::launch::held &&
              text != gpu::launch::command_buffer && text != gpu::launch::cuda_graph)
            throw Error(Code::kInvalidArgument,
                        "\"" + text + "\" is none of AUTO, SINGLY, HELD, COMMAND_BUFFER and CUDA_GRAPH");
          if (apply) launches = text;
        });
    declare_wishes(table);
  }

 private:
  ElementType cache_type(element::Type own, const Target& target) const {
    const element::Type wanted = own == element::dynamic ? kv_cache : own;
    if (wanted == element::dynamic) return target.reals();
    // As the CPU device does: 8 bits are more exact, and no kernel reads rows of 4.
    return wanted == element::u4 ? ElementType::kU8 : static_cast<ElementType>(wanted);
  }
  /// Wishes about how the work is done that programs have for OpenVINO's GPU plugin, and that change nothing here: what is set is kept and can be
  /// read, as there. At first each has the value that holds.
  void declare_wishes(PropertyTable& table) {
    keep(table, intel_gpu::hint::host_task_priority, hint::Priority::MEDIUM);
    keep(table, intel_gpu::enable_loop_unrolling, true);
    keep(table, intel_gpu::disable_winograd_convolution, true);
    keep(table, intel_gpu::hint::enable_lora_operation, false);
    keep(table, intel_gpu::hint::enable_kernels_reuse, true);
    keep(table, intel_gpu::hint::enable_large_allocations, false);
    keep(table, intel_gpu::hint::dynamic_quantization_group_size_max, std::uint64_t{0});
    keep(table, hint::dynamic_quantization_group_size, std::uint64_t{0});
    keep(table, hint::activations_scale_factor, -1.0F);
    keep(table, intel_gpu::offload_ratio, std::size_t{0});
    keep(table, hint::enable_cpu_pinning, false);
    keep(table, hint::enable_cpu_reservation, false);
  }
  template <typename T>
  void keep(PropertyTable& table, const Property<T>& property, const T& value) {
    const std::string name = property.name();
    wishes.emplace(name, value);
    table.add(
        property, [this, name] { return wishes.at(name); },
        [this, name](const Any& wanted, bool apply) {
          const T parsed = wanted.as<T>();
          if (apply) wishes[name] = parsed;
        });
  }
};

}  // namespace tenon::inline v1::gpu_device
