// SPDX-License-Identifier: Apache-2.0
// Random graphs on the CPU engine.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/runtime_model.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/engine/testing/sound_steps.hpp>
#include <tenon/tests/graphs/judge.hpp>

namespace tenon::graphs {
namespace {

class EngineSubject final : public Subject {
 public:
  explicit EngineSubject(const Case& what) : workers_(what.options.threads) {
    if (what.is_dynamic) open_ = with_open_inputs(*what.model);
    if (open_) {
      staged_ = std::make_unique<engine::Staged>(what.options);
      return;
    }
    plan_ = engine::Plan::compile(what.model, what.options);
    execution_ = std::make_unique<engine::Execution>(plan_);
  }

  std::vector<bool> open_inputs() const override {
    std::vector<bool> open;
    if (staged_)
      for (std::size_t i = 0; i < open_->get_parameters().size(); ++i) open.push_back(is_open_input(i));
    return open;
  }
  /// Counts for a model of open shapes.
  std::size_t relowered() const override { return staged_ ? staged_->store().counts().relowered : 0; }

  /// Nothing for models compiled in stages.
  std::map<std::string, std::size_t> kernels() const override {
    std::map<std::string, std::size_t> counts;
    if (!plan_) return counts;
    const engine::PlanImpl& plan = plan_->impl();
    for (const auto& step : plan.steps) {
      ++counts[step->info.kernel];
      for (const auto& written : step->operands)
        counts["in place"] +=
            written.written && std::any_of(step->operands.begin(), step->operands.end(), [&](auto& read) {
              return !read.written && read.place && plan.root(read.place) == plan.root(written.place);
            });
    }
    return counts;
  }

  /// What is wrong with the steps that it shows of `model`, which has run.
  std::string fault_of_steps(const Model& model) const override {
    const auto steps = staged_ ? engine::runtime_model(*open_, staged_->last_run()) : engine::runtime_model(*plan_);
    const std::string fault = engine_test::fault_of(model, *steps);
    return fault.empty() ? fault : "steps: " + fault;
  }

  void run(Bound& bound) override {
    if (staged_) {
      const auto made = staged_->run(open_, bound.inputs, workers_);
      // As a request does.
      for (std::size_t i = 0; i < made.size(); ++i) made[i].copy_to(bound.outputs[i]);
      return;
    }
    for (std::size_t i = 0; i < bound.inputs.size(); ++i) execution_->bind_input(i, bound.inputs[i]);
    for (std::size_t i = 0; i < bound.outputs.size(); ++i) execution_->bind_output(i, bound.outputs[i]);
    execution_->run(workers_);
  }

 private:
  engine::Workers workers_;
  std::shared_ptr<Model> open_;
  std::unique_ptr<engine::Staged> staged_;
  std::shared_ptr<const engine::Plan> plan_;
  std::unique_ptr<engine::Execution> execution_;
};

}  // namespace

std::unique_ptr<Subject> engine_subject(const Case& what) { return std::make_unique<EngineSubject>(what); }

}  // namespace tenon::graphs
