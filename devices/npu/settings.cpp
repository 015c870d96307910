// SPDX-License-Identifier: Apache-2.0
// The NPU's settings as a table of properties.
#include <tenon/devices/npu/settings.hpp>

#include <algorithm>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::npu_device {
namespace {

template <typename T>
std::function<void(const T&)> at_least(T min) {
  return [min](const T& value) {
    if (value < min)
      throw Error(Code::kInvalidArgument, std::to_string(value) + " is less than " + std::to_string(min));
  };
}

}  // namespace

template <typename T, PropertyMutability M>
void Settings::add(PropertyTable& table, const Property<T, M>& property, T& variable, bool for_compiler,
                   const std::function<void(const T&)>& check, PropertyMutability listed) {
  table.add(
      PropertyName(property.name(), listed), [&variable] { return Any(variable); },
      [this, &variable, for_compiler, check, key = std::string(property.name())](const Any& value, bool apply) {
        T parsed = value.as<T>();
        if (check) check(parsed);
        if (!apply) return;
        if (for_compiler) given[key] = Any(parsed).to_text();
        variable = std::move(parsed);
      });
}

void Settings::declare(PropertyTable& table, const Abilities& abilities, const Asked& asked) {
  add(table, hint::performance_mode, mode, true);
  table.add(
      PropertyName(hint::num_requests.name(), PropertyMutability::RW), [this] { return Any(num_requests.value_or(1)); },
      [this](const Any& value, bool apply) {
        const auto parsed = value.as<std::uint32_t>();
        if (apply) num_requests = parsed;
      });
  add(table, hint::model_priority, priority, false);
  add(table, hint::execution_mode, execution_mode, true);
  add(table, hint::inference_precision, precision, true);
  add(table, hint::enable_cpu_pinning, cpu_pinning, false);
  add(table, enable_profiling, profiling, true);
  add(table, npu_device::profiling_type, this->profiling_type, false);
  add<std::int32_t>(table, compilation_num_threads, compilation_threads, true, at_least<std::int32_t>(0));
  // Requests act as streams; only 0 has an effect: start_async runs in the caller's thread.
  add<streams::Num>(
      table, num_streams, streams, false,
      [](const streams::Num& value) {
        if (value < -1 || value > 1)
          throw Error(Code::kInvalidArgument, "the NPU has one stream; AUTO, 1, or 0 for start_async in the caller");
      },
      PropertyMutability::RO);
  add(table, npu_device::exclusive_async_requests, exclusive_requests, false);
  add(table, log::level, log_level, false);
  add(table, tenon::cache_dir, cache_dir, false);
  add(table, device::id, device_id, false);
  add(table, intel_npu::platform, platform, false);
  add<intel_npu::CompilerType>(table, intel_npu::compiler_type, compiler_type, false,
                               [](const intel_npu::CompilerType& type) {
                                 if (type == intel_npu::CompilerType::PLUGIN)
                                   throw Error(Code::kUnimplemented,
                                               "no compiler comes with this device: models are compiled by the driver; "
                                               "use DRIVER or PREFER_PLUGIN");
                               });
  add(table, intel_npu::compilation_mode_params, compilation_mode_params, true);
  add(table, npu_device::compilation_mode, compilation_mode, true);
  add(table, npu_device::backend_compilation_params, backend_compilation_params, true);
  add(table, intel_npu::compiler_dynamic_quantization, dynamic_quantization, true);
  add(table, intel_npu::qdq_optimization, qdq, true);
  add(table, intel_npu::qdq_optimization_aggressive, qdq_aggressive, true);
  if (abilities.turbo) add(table, intel_npu::turbo, turbo, true);
  add<std::int64_t>(table, intel_npu::tiles, tiles, true, at_least<std::int64_t>(-1));
  table.add(
      PropertyName(intel_npu::max_tiles.name(), PropertyMutability::RW),
      [this, ask = asked.max_tiles] { return Any(max_tiles < 0 && ask ? ask() : max_tiles); },
      [this](const Any& value, bool apply) {
        const auto parsed = value.as<std::int64_t>();
        at_least<std::int64_t>(-1)(parsed);
        if (!apply) return;
        max_tiles = parsed;
        given[intel_npu::max_tiles.name()] = std::to_string(parsed);
      });
  add<std::int64_t>(table, npu_device::stepping, stepping, true, at_least<std::int64_t>(-1));
  add<std::int64_t>(table, npu_device::dma_engines, dma_engines, true, at_least<std::int64_t>(-1));
  add(table, intel_npu::bypass_umd_caching, bypass_umd_caching, false);
  add(table, intel_npu::defer_weights_load, defer_weights_load, false);
  if (abilities.sequential) add(table, intel_npu::run_inferences_sequentially, sequential, false);
  add(table, intel_npu::disable_idle_memory_prunning, keep_idle_memory, false);
  add(table, intel_npu::enable_strides_for, strides_for, true);
  if (abilities.workload_type) add(table, workload_type, workload, false);
  add(table, npu_device::batch_mode, batch_mode, false);
  add(table, npu_device::disable_version_check, disable_version_check, false);
  add(table, npu_device::import_raw_blob, import_raw, false);
  add(table, npu_device::export_raw_blob, export_raw, false);
  add(table, tenon::enable_weightless, weightless, false);
  add(table, tenon::weights_path, weights_path, false);
}

std::uint32_t Settings::optimal_requests(const std::string& platform_name) const {
  if (mode == hint::PerformanceMode::LATENCY) return 1;
  const std::uint32_t enough = platform_name.compare(0, 2, "37") == 0 ? 4 : 8;
  return num_requests.value_or(0) > 0 ? std::min(enough, *num_requests) : enough;
}

}  // namespace tenon::inline v1::npu_device
