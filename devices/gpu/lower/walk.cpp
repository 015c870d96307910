// SPDX-License-Identifier: Apache-2.0
// Takes over what other shapes do not reach.
#include <tenon/devices/gpu/lower/walk.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/planning/same_value.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// What the host computes for a plan; more is computed faster by the device than it is copied there.
constexpr std::size_t kMostFoldedBytes = 16384;

bool is_known(const Node& node) {
  if (is_op(&node, "Constant")) return true;
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (!node.get_output_tensor(i).value()) return false;
  return node.get_input_size() > 0 && node.get_output_size() > 0;
}

}  // namespace

ModelWalk::ModelWalk(std::shared_ptr<const Model> model, const NodeVector& order, const Target& target,
                     PackedWeights& weights)
    : model_(std::move(model)), order_(order), target_(target), weights_(weights) {
  known_.resize(order_.size());
  for (const auto& node : order_) places_.emplace(node.get(), places_.size());
  // Ports keep the order of the model, whatever the order of the walk.
  std::uint32_t port = 0;
  for (const auto& parameter : model_->get_parameters()) parts_.push_back({places_.at(parameter.get()), port++});
  for (std::size_t at = 0; at < order_.size(); ++at)
    if (!is_op(order_[at], "Parameter") && !is_op(order_[at], "Result")) parts_.push_back({at, 0});
  port = 0;
  for (const auto& result : model_->get_results()) parts_.push_back({places_.at(result.get()), port++});
}

ModelWalk::Fates ModelWalk::find_fates() const {
  Fates fates;
  fates.of.assign(order_.size(), Fate::kDead);
  for (std::size_t at = order_.size(); at-- > 0;) {
    const Node& node = *order_[at];
    const bool is_port = is_op(&node, "Result") || is_op(&node, "Parameter");
    bool is_read = is_port;
    for (std::size_t i = 0; i < node.get_output_size() && !is_read; ++i) is_read = fates.readers.count({&node, i}) > 0;
    if (!is_read) continue;
    fates.of[at] = known_[at] && !is_port ? Fate::kKnown : Fate::kLowered;
    if (fates.of[at] == Fate::kKnown) continue;
    for (const auto& source : node.input_values()) ++fates.readers[{source.get_node(), source.get_index()}];
  }
  return fates;
}

bool ModelWalk::can_run(const std::vector<bool>& changed) {
  bool is_other = fates_.of.empty();
  for (std::size_t at = 0; at < order_.size(); ++at) {
    if (!changed[at] || known_[at] == is_known(*order_[at])) continue;
    known_[at] = !known_[at];
    is_other = true;
  }
  if (is_other) next_fates_ = find_fates();
  if (next_fates_ == fates_) next_fates_.reset();
  const Fates& fates = next_fates_ ? *next_fates_ : fates_;
  for (std::size_t at = 0; at < order_.size(); ++at)
    if ((next_fates_ || changed[at]) && fates.of[at] == Fate::kLowered && !refusal(*order_[at], target_).empty())
      return false;
  return true;
}

LaunchPlan ModelWalk::run(const std::vector<bool>& changed, const TimeLimit& time) {
  lowered_ = 0;
  if (!builder_ || next_fates_ || !again(changed, time)) {
    lowered_ = 0;
    if (next_fates_) fates_ = *std::exchange(next_fates_, std::nullopt);
    auto anew = std::make_unique<Builder>(*model_, target_, weights_, false, std::vector<InputForm>());
    if (builder_) anew->texts_ = builder_->texts_;
    builder_ = std::move(anew);
    builder_->readers_ = &fates_.readers;
    units_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      time.check("compiling", model_->get_friendly_name(), limit_property::kCompileSeconds);
      units_.emplace_back();
      lower(i);
    }
  }
  return builder_->finish();
}

void ModelWalk::lower(std::size_t index) {
  const Part& part = parts_[index];
  const Node& node = *order_[part.at];
  Builder::Unit& unit = units_[index];
  unit = {};
  unit.buffers = builder_->plan_.buffers.size();
  unit.launches = builder_->plan_.launches.size();
  builder_->unit_ = &unit;
  if (is_op(&node, "Parameter"))
    builder_->add_input(node, part.port);
  else if (is_op(&node, "Result"))
    builder_->add_result(node, part.port);
  else
    lower_node(node, fates_.of[part.at]);
  builder_->unit_ = nullptr;
}

void ModelWalk::lower_node(const Node& node, Fate fate) {
  if (fate == Fate::kDead || builder_->is_expansion(node)) return;
  if (fate == Fate::kKnown) {
    for (std::size_t i = 0; i < node.get_output_size(); ++i)
      builder_->add_constant(node, *node.get_output_tensor(i).value(), i);
    return;
  }
  ++lowered_;
  if (!fold(node)) lowering_table().at(node.get_type_name()).lower(*builder_, node);
}

bool ModelWalk::fold(const Node& node) {
  if (!node.operation().evaluate || node.get_input_size() == 0) return false;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    bytes +=
        checked_size_bytes(node.get_output_element_type(i), node.get_output_shape(i)).value_or(kMostFoldedBytes + 1);
  if (bytes > kMostFoldedBytes) return false;
  std::vector<Tensor> inputs;
  for (const auto& source : node.input_values()) {
    inputs.push_back(builder_->constant(source));
    if (!inputs.back() || inputs.back().element_type() != static_cast<ElementType>(source.get_element_type()))
      return false;
  }
  const std::vector<Tensor> outputs = evaluate_node(node, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) builder_->add_constant(node, outputs[i], i);
  return true;
}

bool ModelWalk::again(const std::vector<bool>& changed, const TimeLimit& time) {
  // What the last run made becomes what was before: the memory of both is kept.
  std::swap(units_, units_before_);
  units_.clear();
  LaunchPlan& plan = builder_->plan_;
  LaunchPlan& old = before_;
  std::swap(plan.buffers, old.buffers);
  std::swap(plan.launches, old.launches);
  old.counters = std::exchange(plan.counters, planning::kNoBuffer);
  plan.buffers.clear();
  plan.launches.clear();
  plan.outputs.clear();
  for (auto& [key, value] : builder_->values_) value = nullptr;
  builder_->constants_.clear();
  builder_->wholes_.clear();
  moved_.clear();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    time.check("compiling", model_->get_friendly_name(), limit_property::kCompileSeconds);
    const bool is_last = i + 1 == parts_.size();
    const std::size_t buffers_end = is_last ? old.buffers.size() : units_before_[i + 1].buffers,
                      launches_end = is_last ? old.launches.size() : units_before_[i + 1].launches;
    units_.emplace_back();
    const auto is_moved = [&](const Key& key) { return moved_.count(key) > 0; };
    const bool is_reached =
        changed[parts_[i].at] || std::ranges::any_of(units_before_[i].reads, is_moved) ||
        std::ranges::any_of(units_before_[i].values, is_moved, &std::pair<Key, Builder::ValueRef>::first) ||
        std::ranges::any_of(units_before_[i].wholes,
                            [&](const auto& whole) { return changed[places_.at(whole.first)]; });
    if (is_reached) {
      lower(i);
      if (!settle(units_before_[i], old, buffers_end, launches_end, units_[i])) return false;
    } else {
      take_over(units_before_[i], old, buffers_end, launches_end);
      units_[i] = std::move(units_before_[i]);
    }
  }
  if (old.counters != planning::kNoBuffer && plan.counters == old.counters) {
    std::size_t& size = plan.buffers[plan.counters].size_bytes;
    size = std::max(size, old.buffers[old.counters].size_bytes);
  }
  old.buffers.clear();  // Nothing of the plan before is held longer.
  old.launches.clear();
  return true;
}

void ModelWalk::take_over(const Builder::Unit& unit, LaunchPlan& before, std::size_t buffers_end,
                          std::size_t launches_end) {
  LaunchPlan& plan = builder_->plan_;
  for (std::size_t id = unit.buffers; id < buffers_end; ++id) {
    if (id == before.counters)
      plan.counters = before.counters;
    else if (before.buffers[id].kind == planning::BufferKind::kConstant)
      builder_->constants_.emplace(before.buffers[id].constant.data(), static_cast<planning::BufferId>(id));
    plan.buffers.push_back(std::move(before.buffers[id]));
  }
  for (std::size_t i = unit.launches; i < launches_end; ++i) plan.launches.push_back(std::move(before.launches[i]));
  for (const auto& [key, value] : unit.values) builder_->values_[key] = value;
  for (const auto& [concat, view] : unit.wholes) builder_->wholes_.emplace(concat, view);
}

bool ModelWalk::settle(const Builder::Unit& was, const LaunchPlan& before, std::size_t buffers_end,
                       std::size_t launches_end, const Builder::Unit& is) {
  const LaunchPlan& plan = builder_->plan_;
  if (plan.buffers.size() != buffers_end || plan.launches.size() != launches_end ||
      was.values.size() != is.values.size())
    return false;
  for (std::size_t id = was.buffers; id < buffers_end; ++id) {
    const planning::Buffer &old = before.buffers[id], &now = plan.buffers[id];
    if (old.kind != now.kind || old.index != now.index || (id == before.counters) != (id == plan.counters))
      return false;
    // Others read it without a value of the graph.
    if (builder_->shared_constants_.count(static_cast<planning::BufferId>(id)) > 0 &&
        old.constant.data() != now.constant.data())
      return false;
  }
  for (const auto& [key, value] : is.values) {
    const auto found = std::ranges::find(was.values, key, &std::pair<Key, Builder::ValueRef>::first);
    if (found == was.values.end()) return false;
    if (is_same(*found->second, *value))
      moved_.erase(key);
    else
      moved_.insert(key);
  }
  return true;
}

bool ModelWalk::is_same(const Value& was, Value& is) {
  if (was.type != is.type || was.shape != is.shape || was.numbers != is.numbers || was.pending != is.pending ||
      was.unrounded != is.unrounded || was.norm != is.norm ||
      static_cast<bool>(was.constant) != static_cast<bool>(is.constant) || was.view != is.view || was.plain != is.plain)
    return false;
  if (!was.constant) return true;
  if (!planning::is_same_value(was.constant, is.constant)) return false;
  is.constant = was.constant;  // Its address is known to others.
  return true;
}

}  // namespace tenon::inline v1::gpu_device
