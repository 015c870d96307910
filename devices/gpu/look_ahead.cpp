// SPDX-License-Identifier: Apache-2.0
// The steps of an inference that can be taken before its inputs are there.
#include <tenon/devices/gpu/look_ahead.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace tenon::inline v1::gpu_device {

namespace {

/// Whether each extent makes the same step twice. @param moves  Set if a step is one.
bool has_same_steps(const Shape& before, const Shape& now, const Shape& next, bool& moves) {
  if (before.size() != now.size() || now.size() != next.size()) return false;
  for (std::size_t axis = 0; axis < now.size(); ++axis) {
    if (next[axis] - now[axis] != now[axis] - before[axis]) return false;
    moves |= next[axis] != now[axis];
  }
  return true;
}

}  // namespace

void LookAhead::note(std::span<const InputState> inputs) {
  goes_on_ = before_.size() == inputs.size() && now_.size() == inputs.size();
  bool moves = false;
  for (std::size_t i = 0; i < inputs.size() && goes_on_; ++i)
    goes_on_ = has_same_steps(before_[i], now_[i], inputs[i].shape, moves);
  goes_on_ &= moves;
  before_.swap(now_);
  now_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) now_[i] = inputs[i].shape;
}

Shape LookAhead::expected(std::size_t input) const {
  const auto next = input < before_.size() ? gone_on(before_[input], now_[input]) : std::nullopt;
  return next.value_or(now_[input]);
}

LookAhead::Found LookAhead::make_ready(DeferredModel& model, const Ports& ports, Execution& execution,
                                       TwinQueue& queue) {
  const std::size_t inputs = ports.inputs.size(), outputs = ports.outputs.size();
  if (now_.size() != inputs) return Found::kNothing;
  inputs_.resize(inputs + ports.state_inputs.size());
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!ports.inputs[i].tensor || !ports.inputs[i].form.is_plain()) return Found::kNothing;
    inputs_[i].shape = expected(i);
  }
  for (std::size_t i = 0; i < ports.state_inputs.size(); ++i)
    inputs_[inputs + i].shape = ports.state_inputs[i]->present().shape();
  const std::shared_ptr<const PlannedSubgraph> subgraph = model.subgraph_there(inputs_);
  if (!subgraph) return Found::kNotYet;
  const std::shared_ptr<const LaunchPlan>& plan = subgraph->plan;
  if (subgraph->rest || plan->outputs.size() != outputs + ports.state_outputs.size() ||
      !execution.has_memory_for(*plan))
    return Found::kNothing;
  for (std::size_t i = 0; i < ports.state_inputs.size(); ++i)
    if (ports.state_inputs[i]->room() != plan->inputs[inputs + i].room) return Found::kNothing;
  next_.resize(ports.state_outputs.size());
  for (std::size_t i = 0; i < next_.size(); ++i) {
    const PlanPort& port = plan->outputs[outputs + i];
    const auto memory = ports.state_outputs[i]->next_memory(port.shape, port.room, port.is_in_place);
    if (!memory || port.count) return Found::kNothing;
    next_[i] = *memory;
  }
  execution.take(plan);
  for (std::size_t i = 0; i < inputs; ++i) execution.bind_input(i, 0, ports.inputs[i].memory);
  for (std::size_t i = 0; i < ports.state_inputs.size(); ++i)
    execution.bind_input(inputs + i, 0, ports.state_inputs[i]->present_memory());
  for (std::size_t i = 0; i < outputs; ++i)
    if (ports.outputs[i].tensor) execution.bind_output(i, ports.outputs[i].memory);
  for (std::size_t i = 0; i < next_.size(); ++i) execution.bind_output(outputs + i, next_[i]);
  if (!execution.has_twin()) return Found::kNothing;
  queue.expect(execution.twin_work());
  return Found::kReady;
}

}  // namespace tenon::inline v1::gpu_device
