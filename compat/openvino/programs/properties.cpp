// SPDX-License-Identifier: Apache-2.0
// Properties: keys, values, printing.
#include <algorithm>
#include <cstdint>

#include <openvino/runtime/auto/properties.hpp>
#include <openvino/runtime/intel_gpu/properties.hpp>
#include <openvino/runtime/intel_npu/properties.hpp>

#include "programs.hpp"

namespace {
template <typename... Pairs>
void pairs(const Pairs&... each) {
  (line(each.first, '=', each.second.template as<std::string>()), ...);
}
}  // namespace

void properties() {
  pairs(ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT), ov::hint::performance_mode("LATENCY"),
        ov::hint::inference_precision(ov::element::f16), ov::hint::num_requests(4U), ov::num_streams(3),
        ov::num_streams(ov::streams::AUTO), ov::inference_num_threads(2), ov::enable_profiling(true),
        ov::cache_dir("/tmp/x"), ov::device::id("1"), ov::device::priorities("GPU", "CPU"),
        ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY), ov::hint::model_priority(ov::hint::Priority::HIGH),
        ov::log::level(ov::log::Level::WARNING), ov::cache_mode(ov::CacheMode::OPTIMIZE_SIZE),
        ov::hint::enable_cpu_pinning(false), ov::hint::scheduling_core_type(ov::hint::SchedulingCoreType::PCORE_ONLY),
        ov::device::properties("CPU", ov::enable_profiling(true)), ov::hint::kv_cache_precision(ov::element::u8),
        ov::intel_gpu::hint::queue_throttle(ov::intel_gpu::hint::ThrottleLevel::LOW), ov::intel_npu::tiles(2),
        ov::intel_npu::turbo(true), ov::intel_auto::enable_startup_fallback(false), ov::hint::allow_auto_batching(true),
        ov::auto_batch_timeout(5U), ov::intel_gpu::enable_loop_unrolling(false),
        ov::hint::dynamic_quantization_group_size(32), ov::enable_mmap(false));
  line(ov::hint::performance_mode.name(), ' ', ov::supported_properties.name(), ' ',
       ov::hint::PerformanceMode::CUMULATIVE_THROUGHPUT, ' ', ov::log::Level::NO, ' ', ov::streams::NUMA, ' ',
       ov::device::Type::DISCRETE, ' ', ov::hint::Priority::DEFAULT, ' ', ov::device::PCIInfo{0, 3, 0, 1}, ' ',
       ov::WorkloadType::EFFICIENT);
  ov::Core core;
  const std::vector<std::string> devices = core.get_available_devices();
  line(std::count(devices.begin(), devices.end(), "CPU"), ' ', !core.get_versions("CPU").empty(), ' ',
       ov::get_openvino_version().buildNumber != nullptr);
  const auto known = core.get_property("CPU", ov::supported_properties);
  for (const char* key :
       {"PERFORMANCE_HINT", "NUM_STREAMS", "INFERENCE_NUM_THREADS", "PERF_COUNT", "FULL_DEVICE_NAME"}) {
    const auto found = std::find(known.begin(), known.end(), key);
    line(key, ' ', found != known.end(), ' ', found != known.end() && found->is_mutable());
  }
  line(core.get_property("CPU", ov::device::capabilities).empty(), ' ',
       core.get_property("CPU", ov::device::full_name).empty(), ' ',
       core.get_property("CPU", "OPTIMIZATION_CAPABILITIES").as<std::vector<std::string>>().empty(), ' ',
       std::get<0>(core.get_property("CPU", ov::range_for_streams)));
  core.set_property("CPU", ov::inference_num_threads(1));
  line(core.get_property("CPU", ov::inference_num_threads), ' ',
       core.get_property("CPU", "INFERENCE_NUM_THREADS").as<std::string>());
  core.set_property("CPU", {{"PERF_COUNT", true}});
  line(core.get_property("CPU", ov::enable_profiling), ' ', core.get_property("CPU", "PERF_COUNT").as<std::string>());
  ov::CompiledModel compiled =
      core.compile_model(small_model(core), "CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
                         ov::hint::inference_precision(ov::element::f32), ov::num_streams(1));
  line(compiled.get_property(ov::hint::performance_mode), ' ', compiled.get_property(ov::num_streams), ' ',
       compiled.get_property(ov::hint::inference_precision), ' ', compiled.get_property(ov::model_name), ' ',
       compiled.get_property(ov::optimal_number_of_infer_requests), ' ',
       compiled.get_property("PERFORMANCE_HINT").as<std::string>(), ' ',
       compiled.get_property(ov::execution_devices).at(0));
  ov::InferRequest request = compiled.create_infer_request();
  request.infer();
  const std::vector<ov::ProfilingInfo> profile = request.get_profiling_info();
  line(std::any_of(profile.begin(), profile.end(),
                   [](const ov::ProfilingInfo& each) { return each.status == ov::ProfilingInfo::Status::EXECUTED; }));
  // The CPU names its steps without measuring them, too.
  ov::InferRequest silent =
      core.compile_model(small_model(core), "CPU", ov::enable_profiling(false)).create_infer_request();
  silent.infer();
  const std::vector<ov::ProfilingInfo> steps = silent.get_profiling_info();
  line("unmeasured ", steps.size() > 1, std::all_of(steps.begin(), steps.end(), [](const ov::ProfilingInfo& each) {
         return each.status == ov::ProfilingInfo::Status::NOT_RUN && each.real_time.count() == 0 &&
                each.cpu_time.count() == 0 && !each.node_name.empty() && !each.node_type.empty();
       }));
  const ov::SupportedOpsMap supported = core.query_model(small_model(core), "CPU");
  line(supported.at("sum"), ' ', supported.at("relu"));
}
