// SPDX-License-Identifier: Apache-2.0
// Stores a request's variables.
#include <tenon/devices/cpu/states.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

class State final : public VariableStateImpl {
 public:
  State(States& owner, std::size_t index, std::string name) : owner_(owner), index_(index), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Tensor state() const override { return owner_.value(index_); }
  void set_state(const Tensor& value) override { owner_.set(index_, value); }
  void reset() override { owner_.reset(index_); }

 private:
  States& owner_;
  std::size_t index_;
  std::string name_;
};

}  // namespace

std::vector<VariableInfo> VariableInfo::of(const Model& model) {
  std::vector<VariableInfo> infos;
  for (const auto& node : model.get_ordered_ops()) {
    if (std::string_view(node->get_type_name()) != "ReadValue") continue;
    const std::string& id = node->get_attributes().get_string("variable_id");
    const bool known = std::any_of(infos.begin(), infos.end(), [&](const VariableInfo& info) { return info.id == id; });
    if (!known) infos.push_back({id, node->get_output_element_type(0), node->get_output_partial_shape(0)});
  }
  return infos;
}

States::States(const std::vector<VariableInfo>& infos) : infos_(infos) {
  for (std::size_t i = 0; i < infos_.size(); ++i) objects_.push_back(std::make_shared<State>(*this, i, infos_[i].id));
}

int States::slot(std::size_t index) const {
  if (!execution_) return -1;
  const auto found = std::find(names_.begin(), names_.end(), infos_.at(index).id);
  return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
}

void States::leave(engine::Execution* execution) {
  if (execution) {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const int at = slot(i);
      if (at >= 0 && execution->is_variable_set(static_cast<std::size_t>(at)))
        loose_[infos_[i].id] = execution->variable(static_cast<std::size_t>(at));
    }
  }
  execution_ = nullptr;
  names_.clear();
}

void States::enter(engine::Execution* execution) {
  if (!execution) {
    execution_ = nullptr;
    return;
  }
  // Check all before moving any: on failure every value stays in place.
  const std::vector<std::string> names = execution->variables();
  std::vector<std::pair<std::size_t, VariableMap::iterator>> moves;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const auto kept = loose_.find(names[at]);
    if (kept == loose_.end()) continue;
    const Tensor wanted = execution->variable(at);
    if (kept->second.shape() != wanted.shape() || kept->second.element_type() != wanted.element_type()) {
      throw Error(Code::kFailedPrecondition, "CPU: variable '" + names[at] + "' holds " + to_string(kept->second) +
                                                 ", and with the inputs' shapes of now it has the shape " +
                                                 to_string(wanted.shape()) + "; reset it, or set it to that shape");
    }
    moves.emplace_back(at, kept);
  }
  execution_ = execution;
  names_ = names;
  for (const auto& [at, kept] : moves) {
    execution->set_variable(at, kept->second);
    loose_.erase(kept);
  }
}

Tensor States::value(std::size_t index) const {
  if (const int at = slot(index); at >= 0) return execution_->variable(static_cast<std::size_t>(at));
  if (const auto found = loose_.find(infos_.at(index).id); found != loose_.end()) return found->second;
  // Not initialised yet: zeros, with extent 0 where the shape is dynamic.
  Shape shape;
  if (infos_[index].shape.rank().is_dynamic()) {
    shape = {0};
  } else {
    for (const Dimension& extent : infos_[index].shape)
      shape.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
  }
  Tensor zeros(infos_[index].type, shape);
  if (zeros.size_bytes()) std::memset(zeros.data(), 0, zeros.size_bytes());
  return zeros;
}

void States::set(std::size_t index, const Tensor& value) {
  const VariableInfo& info = infos_.at(index);
  if (const int at = slot(index); at >= 0) {
    const auto place = static_cast<std::size_t>(at);
    // A variable of dynamic shape may get the shape of the next inputs' plan.
    if (info.shape.is_static() || value.shape() == execution_->variable(place).shape())
      return execution_->set_variable(place, value);
  }
  if (!info.shape.compatible(PartialShape(value.shape())) || value.element_type() != info.type) {
    throw Error(Code::kInvalidArgument, "CPU: variable '" + info.id + "' is " + std::string(name(info.type)) + " " +
                                            info.shape.to_string() + ", but the value is " + to_string(value));
  }
  Tensor copy;
  value.copy_to(copy);
  loose_[info.id] = copy;
}

void States::reset(std::size_t index) {
  loose_.erase(infos_.at(index).id);
  if (const int at = slot(index); at >= 0) execution_->reset_variable(static_cast<std::size_t>(at));
}

}  // namespace tenon::inline v1::cpu_device
