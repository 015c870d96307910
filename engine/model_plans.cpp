// SPDX-License-Identifier: Apache-2.0
// What plans of moving shapes share, and what each is kept by.
#include <tenon/engine/model_plans.hpp>

#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/limits.hpp>

namespace tenon::inline v1::engine {

ModelPlans::ModelPlans(const Options& options, std::size_t max_bytes)
    : options_(options), shared_(std::make_unique<SharedParts>()), stages_({.bytes = max_bytes}) {}
ModelPlans::~ModelPlans() = default;

std::shared_ptr<const ModelPlans::Opened> ModelPlans::open(const std::shared_ptr<const Model>& model,
                                                           const std::set<std::string>& is_set) {
  // Once per model: a request that comes meanwhile needs it as well.
  const std::lock_guard lock(open_mutex_);
  Source& source = sources_[model.get()];
  if (!source.prepared) {
    const auto prepared = run_passes(*model, options_, TimeLimit(model_limits().compile_seconds));
    shared_->constants.keep(prepared);
    source.prepared = prepared;
    source.given = model;
  }
  auto& opened = source.opened[is_set];
  if (!opened) {
    auto made = std::make_shared<Opened>();
    if (planning::state_ids(*source.prepared).empty()) {
      made->model = std::make_shared<DynamicModel>(source.prepared);
    } else {
      planning::StatePorts ports = planning::state_ports(*source.prepared, is_set);
      made->model = std::make_shared<DynamicModel>(std::move(ports.model));
      made->state_inputs = std::move(ports.inputs);
      made->state_outputs = std::move(ports.outputs);
      made->growths = std::move(ports.growths);
    }
    opened = std::move(made);
  }
  return opened;
}

std::shared_ptr<const Subgraph> ModelPlans::subgraph(DynamicModel& model, std::span<const Tensor> inputs,
                                                     std::span<const Growth> growths, Cancellation cancellation) {
  ShapeKey wanted{model.id(), growths.size()};
  for (const Growth& growth : growths) wanted.push_back(growth.capacity);
  for (const Tensor& input : inputs) {
    wanted.push_back(static_cast<std::uint64_t>(input.element_type()) << 32 | input.shape().size());
    wanted.insert(wanted.end(), input.shape().begin(), input.shape().end());
  }
  const auto make = [&](ShapeKey&) {
    auto made = make_subgraph(model, inputs, growths, options_, *shared_);
    relowered_ += made->is_relowered;
    return made;
  };
  bool is_cancelled = false;
  const auto keep_waiting = [&] {
    is_cancelled = cancellation.asked && cancellation.asked(cancellation.context);
    return !is_cancelled;
  };
  for (;;) {
    auto found = stages_.get(wanted, make, keep_waiting);
    if (found || is_cancelled) return found;
  }
}

ModelPlans::Counts ModelPlans::counts() const {
  Counts counts;
  static_cast<Store::Counts&>(counts) = stages_.counts();
  counts.relowered = relowered_;
  counts.packed = shared_->constants.count();
  return counts;
}

}  // namespace tenon::inline v1::engine
