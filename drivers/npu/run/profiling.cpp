// SPDX-License-Identifier: Apache-2.0
// Pools of query slots, and times by layer and by task.
#include <algorithm>
#include <cstring>

#include <tenon/drivers/npu/objects/pace.hpp>
#include <tenon/drivers/npu/run/profiling.hpp>

namespace tenon::npu {
namespace {

template <std::size_t Size>
void put(char (&to)[Size], std::string_view text) {
  std::memset(to, 0, Size);
  std::memcpy(to, text.data(), std::min(text.size(), Size - 1));
}

/// The NPU engine that would do this work: matrix products, data movement, or everything else.
abi::TaskExecuteType engine_of(std::string_view type) {
  for (const std::string_view matrix : {"Convolution", "MatMul", "ScaledDotProductAttention", "LSTM", "GRU", "RNN"})
    if (type.find(matrix) != type.npos) return abi::TaskExecuteType::kDpu;
  for (const std::string_view movement : {"Reorder", "Reshape", "Transpose", "Concat", "Split", "Slice", "Pad"})
    if (type.find(movement) != type.npos) return abi::TaskExecuteType::kDma;
  return abi::TaskExecuteType::kSw;
}

std::vector<abi::LayerInfo> layers_of(const compiler::Profile& profile) {
  std::vector<abi::LayerInfo> layers;
  const auto steps = profile.plan->steps();
  for (std::size_t i = 0; i < steps.size() && i < profile.timings.size(); ++i) {
    abi::LayerInfo& layer = layers.emplace_back();
    put(layer.name, steps[i].node_name);
    put(layer.layer_type, steps[i].node_type);
    layer.status = abi::LayerStatus::kExecuted;
    layer.start_time_ns = static_cast<std::uint64_t>((profile.begin + profile.timings[i].start).count());
    layer.duration_ns = static_cast<std::uint64_t>(profile.timings[i].duration.count());
    layer.layer_id = static_cast<std::uint32_t>(i);
    const auto engine = engine_of(steps[i].node_type);
    (engine == abi::TaskExecuteType::kDpu   ? layer.dpu_ns
     : engine == abi::TaskExecuteType::kDma ? layer.dma_ns
                                            : layer.sw_ns) = layer.duration_ns;
  }
  for (const auto& [name, type] : profile.plan->optimized_out()) {
    abi::LayerInfo& layer = layers.emplace_back();
    put(layer.name, name);
    put(layer.layer_type, type);
    layer.status = abi::LayerStatus::kOptimizedOut;
    layer.layer_id = static_cast<std::uint32_t>(layers.size() - 1);
  }
  return layers;
}

/// The layers that the NPU would execute, one after the other, with the times that pacing gives them.
std::vector<abi::LayerInfo> paced_layers_of(const compiler::Profile& profile, const compiler::Timing& timing) {
  const auto paced_ns = [](std::uint64_t ps) {
    return static_cast<std::uint64_t>(Pace::get().factor() * static_cast<double>(ps) / 1000);
  };
  std::vector<abi::LayerInfo> layers;
  std::uint64_t start_ps = 0;
  for (const compiler::TimedLayer& timed : timing.layers) {
    abi::LayerInfo& layer = layers.emplace_back();
    put(layer.name, timed.name);
    put(layer.layer_type, timed.type);
    layer.status = abi::LayerStatus::kExecuted;
    layer.start_time_ns = static_cast<std::uint64_t>(profile.begin.count()) + paced_ns(start_ps);
    layer.duration_ns = paced_ns(timed.ps());
    layer.layer_id = static_cast<std::uint32_t>(layers.size() - 1);
    // Transfers run beside computing; their time tells the traffic.
    layer.dma_ns = paced_ns(timed.memory_ps);
    (timed.engine == planning::NpuEngine::kMatrix ? layer.dpu_ns : layer.sw_ns) = paced_ns(timed.compute_ps);
    start_ps += timed.ps();
  }
  return layers;
}

std::vector<abi::TaskInfo> tasks_of(const compiler::Profile& profile) {
  std::vector<abi::TaskInfo> tasks;
  const auto steps = profile.plan->steps();
  for (std::size_t i = 0; i < steps.size() && i < profile.timings.size(); ++i) {
    abi::TaskInfo& task = tasks.emplace_back();
    put(task.name, steps[i].node_name + "/" + steps[i].kernel);
    put(task.layer_type, steps[i].node_type);
    task.execute_type = engine_of(steps[i].node_type);
    task.start_time_ns = static_cast<std::uint64_t>((profile.begin + profile.timings[i].start).count());
    task.duration_ns = static_cast<std::uint64_t>(profile.timings[i].duration.count());
    task.task_id = task.parent_layer_id = static_cast<std::uint32_t>(i);
  }
  return tasks;
}

/// Copies as many whole entries as fit.
template <typename Info>
ze_result_t give(const std::vector<Info>& infos, std::uint32_t* size, std::uint8_t* data) {
  const auto all = static_cast<std::uint32_t>(infos.size() * sizeof(Info));
  if (data) {
    const std::uint32_t given = std::min(*size, all) / sizeof(Info) * sizeof(Info);
    std::memcpy(data, infos.data(), given);
    *size = given;
  } else {
    *size = all;
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void ProfilingQuery::record(const compiler::Profile& profile, std::shared_ptr<const compiler::Program> paced) {
  const std::lock_guard lock(mutex_);
  profile_ = profile;
  paced_ = paced && !paced->timing().layers.empty() ? std::move(paced) : nullptr;
}

ze_result_t ProfilingQuery::get_data(abi::ProfilingType type, std::uint32_t* size, std::uint8_t* data) const {
  const std::lock_guard lock(mutex_);
  if (!profile_.plan) return fail(ZE_RESULT_NOT_READY, "no profiled run of this query has ended yet");
  switch (type) {
    case abi::ProfilingType::kLayer:
      return give(paced_ ? paced_layers_of(profile_, paced_->timing()) : layers_of(profile_), size, data);
    case abi::ProfilingType::kTask:
      return give(tasks_of(profile_), size, data);
    case abi::ProfilingType::kRaw:
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "raw times are not supported: request layers or tasks");
  }
  return ZE_RESULT_ERROR_INVALID_ENUMERATION;
}

ProfilingPool::ProfilingPool(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) queries_.push_back(std::make_shared<ProfilingQuery>());
}

std::shared_ptr<ProfilingQuery> ProfilingPool::query(std::uint32_t index) const {
  return index < queries_.size() ? queries_[index] : nullptr;
}

}  // namespace tenon::npu
