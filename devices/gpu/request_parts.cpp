// SPDX-License-Identifier: Apache-2.0
#include <tenon/devices/gpu/request_parts.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace tenon::inline v1::gpu_device {

Shape Part::shape_of(std::size_t output) const {
  const PlanPort& port = plan().outputs[output];
  return port.shape_of(port.count ? static_cast<std::size_t>(counts[*port.count]) : 0);
}

Tensor Part::value(std::size_t output) const {
  return Tensor(TensorInfo{plan().outputs[output].type, shape_of(output), {}}, made[output].memory(),
                made[output].offset());
}

std::vector<std::chrono::nanoseconds> Part::times() const {
  std::vector<std::chrono::nanoseconds> all;
  for (const auto& event : events) all.push_back(duration_of(event.get()));
  return all;
}

bool KeptExecutions::has_seen(const LaunchPlan& plan) {
  if (std::ranges::find(seen_, &plan) != seen_.end()) return true;
  seen_[next_seen_] = &plan;
  next_seen_ = (next_seen_ + 1) % seen_.size();
  return false;
}

std::unique_ptr<Execution> KeptExecutions::change(std::unique_ptr<Execution> last,
                                                  const std::shared_ptr<const LaunchPlan>& plan, bool goes_on) {
  if (last && &last->plan() == plan.get()) return last;  // It looked ahead.
  // Larger memory is made when nothing else holds the smaller one.
  const bool has_memory = last && last->has_memory_for(*plan);
  if (!has_memory) {
    all_.clear();
    spare_ = nullptr;
    own_ = nullptr;
  }
  const bool comes_again = !goes_on && has_seen(*plan) && has_memory;
  const auto known =
      goes_on ? all_.end()
              : std::ranges::find_if(all_, [&](const auto& execution) { return &execution->plan() == plan.get(); });
  std::unique_ptr<Execution> next;
  if (known != all_.end()) {
    next = std::move(*known);
    all_.erase(known);
  } else if (comes_again && all_.size() < kMost) {
    next = std::make_unique<Execution>(gpu_, plan, twin_, last.get());
  } else if (comes_again) {
    next = std::move(all_.back());
    all_.pop_back();
    next->take(plan);
  } else {
    next = last.get() == own_ ? std::move(spare_) : std::move(last);
    if (next)
      next->take(plan);
    else
      next = std::make_unique<Execution>(gpu_, plan, twin_, last.get());
  }
  if (last && last.get() == own_)
    all_.insert(all_.begin(), std::move(last));
  else if (last)
    spare_ = std::move(last);
  own_ = comes_again ? next.get() : nullptr;
  if (comes_again) next->keep();
  return next;
}

std::vector<ProfilingInfo> profile_of(std::span<const Part> parts) {
  using std::chrono::microseconds;
  using std::chrono::round;
  std::vector<ProfilingInfo> infos;
  const auto add = [&](const std::string& name, const std::string& type) -> ProfilingInfo& {
    ProfilingInfo& info = infos.emplace_back();
    info.node_name = name;
    info.node_type = type;
    info.status = ProfilingInfo::Status::OPTIMIZED_OUT;
    return info;
  };
  std::optional<std::chrono::nanoseconds> begin;
  for (const Part& part : parts) {
    const auto durations = part.times();
    for (std::size_t i = 0; i < part.events.size(); ++i) {
      const Launch& launch = *part.plan().launches[i];
      const auto start = time_of(part.events[i].get(), CL_PROFILING_COMMAND_START);
      if (!begin) begin = start;
      ProfilingInfo& info = add(launch.node_name, launch.node_type);
      info.status = ProfilingInfo::Status::EXECUTED;
      info.exec_type = launch.kernel->kind;
      info.start_time = round<microseconds>(start - *begin);
      info.real_time = info.cpu_time = round<microseconds>(durations[i]);
      for (const auto& [name, type] : launch.fused) add(name, type);
    }
    for (const auto& [name, type] : part.plan().optimized_out()) add(name, type);
  }
  return infos;
}

void Given::set(std::size_t index, const Binding& input) {
  const Shape& shape = input.tensor ? input.tensor.shape() : input.batch_shape;
  inputs[index] = {input.tensor, shape, input.form};
  memory[index].clear();
  for (const Location& item : input.items) memory[index].push_back(item.memory);
  if (input.items.empty()) memory[index].push_back(input.memory);
}

void Given::set(std::size_t index, const Tensor& tensor) {
  inputs[index] = {tensor, tensor.shape(), {}};
  memory[index].assign(1, {opencl::buffer(tensor), nullptr, tensor.offset()});
}

void Given::bind(Execution& execution) const {
  for (std::size_t i = 0; i < memory.size(); ++i)
    for (std::size_t item = 0; item < memory[i].size(); ++item) execution.bind_input(i, item, memory[i][item]);
}

}  // namespace tenon::inline v1::gpu_device
