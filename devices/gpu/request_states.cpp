// SPDX-License-Identifier: Apache-2.0
#include <tenon/devices/gpu/request_states.hpp>

#include <algorithm>
#include <set>

namespace tenon::inline v1::gpu_device {

RequestStates::RequestStates(const CompiledModel& owner) {
  for (const Variable& variable : owner.variables()) {
    all_.push_back(std::make_shared<State>(owner.gpu(), variable));
    if (!owner.is_open() && variable.is_assigned) outputs_.push_back(all_.back().get());
  }
}

State* RequestStates::find(const std::string& id) const {
  return std::ranges::find_if(all_, [&](const auto& state) { return state->name() == id; })->get();
}

bool RequestStates::are_as_opened() const {
  return opened_ && std::ranges::equal(all_, opened_for_, [](const auto& state, bool has_value) {
           return static_cast<bool>(state->present()) == has_value;
         });
}

void RequestStates::open(CompiledModel& owner) {
  if (are_as_opened()) return;
  opened_ = nullptr;
  opened_for_.clear();
  std::set<std::string> ids;
  for (const auto& state : all_) {
    opened_for_.push_back(static_cast<bool>(state->present()));
    if (opened_for_.back()) ids.insert(state->name());
  }
  const CompiledModel::Opened& opened = owner.open(ids);
  inputs_.clear();
  outputs_.clear();
  for (const std::string& id : opened.state_inputs) inputs_.push_back(find(id));
  for (const std::string& id : opened.state_outputs) outputs_.push_back(find(id));
  opened_ = &opened;
}

}  // namespace tenon::inline v1::gpu_device
