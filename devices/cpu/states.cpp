// SPDX-License-Identifier: Apache-2.0
// Stores a request's variables.
#include <tenon/devices/cpu/states.hpp>

#include <algorithm>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/graph/evaluate.hpp>

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

States::States(const std::vector<VariableInfo>& infos, engine::Execution* execution, const engine::Staged* staged)
    : infos_(infos), execution_(execution), staged_(staged) {
  for (std::size_t i = 0; i < infos_.size(); ++i) objects_.push_back(std::make_shared<State>(*this, i, infos_[i].id));
  if (execution_) names_ = execution_->variables();
}

int States::slot(std::size_t index) const {
  if (!execution_) return -1;
  const auto found = std::find(names_.begin(), names_.end(), infos_.at(index).id);
  return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
}

Tensor States::value(std::size_t index) {
  if (const int at = slot(index); at >= 0) return execution_->variable(static_cast<std::size_t>(at));
  if (const auto found = loose_.find(infos_.at(index).id); found != loose_.end()) {
    // A growing cache is stored with spare capacity, possibly in fewer bits. Reading it converts it to packed form in
    // its own type, and the next run uses that.
    found->second = staged_->packed_state(found->first, found->second);
    return found->second;
  }
  // Not initialised yet: zeros, with extent 0 where the shape is dynamic.
  Shape shape;
  if (infos_[index].shape.rank().is_dynamic()) {
    shape = {0};
  } else {
    for (const Dimension& extent : infos_[index].shape)
      shape.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
  }
  return zero_tensor(infos_[index].type, shape);
}

void States::set(std::size_t index, const Tensor& value) {
  const VariableInfo& info = infos_.at(index);
  if (const int at = slot(index); at >= 0) return execution_->set_variable(static_cast<std::size_t>(at), value);
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
