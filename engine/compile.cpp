// SPDX-License-Identifier: Apache-2.0
// Compiling a model to a plan: passes, the walk, memory.
#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/lower/build/parts.hpp>
#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/lower/relowering.hpp>
#include <tenon/engine/lower/walk.hpp>
#include <tenon/engine/packed_model.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/planning/memory_plan.hpp>

namespace tenon::inline v1::engine {
namespace {

std::string port_name(const Output<const Node>& output, const Node& node) {
  return output.get_names().empty() ? node.get_friendly_name() : output.get_any_name();
}

Port make_port(const Output<const Node>& output, const Node& node) {
  if (output.get_partial_shape().is_dynamic() || output.get_element_type().is_dynamic()) {
    throw Error(Code::kFailedPrecondition, "CPU: " + node.describe() + " has the dynamic shape " +
                                               output.get_partial_shape().to_string() +
                                               "; reshape the model to static shapes before compiling a plan");
  }
  return {port_name(output, node), output.get_element_type(), output.get_shape()};
}

/// Marks inputs that only kernels with strides read: these take the user's tensor in place.
void find_strided_inputs(PlanImpl& plan) {
  plan.input_read_strided.assign(plan.inputs.size(), false);
  std::vector<bool> packed(plan.inputs.size(), false);
  for (const auto& step : plan.steps) {
    const bool strided = dynamic_cast<const TensorStep*>(step.get()) != nullptr;
    for (const Operand& operand : step->operands) {
      if (!operand.place) continue;
      const BufferSlice root = plan.root(operand.place);
      const Buffer& buffer = plan.buffers[root.buffer];
      if (buffer.kind != BufferKind::kInput) continue;
      // A view into an input has extents of its own, which the user's tensor does not describe.
      if (strided && root.offset == 0)
        plan.input_read_strided[buffer.index] = true;
      else
        packed[buffer.index] = true;
    }
  }
  for (std::size_t i = 0; i < packed.size(); ++i)
    if (packed[i]) plan.input_read_strided[i] = false;
}

}  // namespace

namespace {

/// A plan of that model for steps and buffers to be added to.
PlanImpl described(std::shared_ptr<const Model> model, const Options& options, SharedParts* shared,
                   std::span<const Growth> growths) {
  PlanImpl plan;
  plan.options = options;
  if (plan.options.threads <= 0) plan.options.threads = Workers::available_cpus();
  plan.engine = shared ? shared->engine : dnnl::engine(dnnl::engine::kind::cpu, 0);
  plan.model = std::move(model);
  plan.growths.assign(growths.begin(), growths.end());
  return plan;
}

void describe_ports(PlanImpl& plan) {
  plan.inputs.clear(), plan.outputs.clear();
  for (const auto& parameter : plan.model->get_parameters())
    plan.inputs.push_back(make_port(Output<const Node>(parameter.get(), 0), *parameter));
  for (const auto& result : plan.model->get_results())
    plan.outputs.push_back(make_port(Output<const Node>(result.get(), 0), *result));
  for (const Growth& growth : plan.growths) {
    if (!growth.format.is_narrow()) continue;
    Port& port = plan.inputs[growth.parameter];
    port.shape[growth.axis] = growth.capacity;
    port = {port.name, ElementType::kU8, Shape{growth.format.size_bytes(port.shape)}};
  }
}

/// Runs `lower`, which adds to the plan, where kernels are made as they will run.
/// @param shared  With what other plans of the model have, or null.
template <typename Lower>
void lower_in_arena(PlanImpl& plan, SharedParts* shared, const PackedStore* store, const HostBudget& budget,
                    const Lower& lower) {
  SharedPrimitives own;
  plan.store = store;
  plan.shared = shared;
  plan.primitives = shared ? &shared->primitives : &own;
  std::exception_ptr failure;
  // oneDNN sizes its kernels by the arena that they are made in.
  WorkerOptions making;
  making.threads = plan.options.threads;
  making.active = plan.options.compile_threads;
  Workers workers(making);
  workers.run([&] {
    try {
      const HostBudget::Scope scope(budget);
      lower();
    } catch (const dnnl::error& error) {
      failure = std::make_exception_ptr(
          Error(Code::kInternal,
                std::string("CPU: compiling '") + plan.model->get_friendly_name() + "' failed: " + error.what(),
                "oneDNN", error.status));
    } catch (...) {
      failure = std::current_exception();
    }
  });
  plan.store = nullptr;
  plan.shared = nullptr;
  plan.primitives = nullptr;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

std::shared_ptr<const Plan> Plan::compile(const std::shared_ptr<const Model>& model, const Options& options) {
  if (!model) throw Error(Code::kInvalidArgument, "CPU: no model to compile");
  const ModelLimits limits = model_limits();
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const TimeLimit time(limits.compile_seconds);
  std::shared_ptr<const Model> prepared;
  {
    const HostBudget::Scope scope(budget);
    prepared = run_passes(*model, options, time);
  }
  return build(prepared, options, nullptr, budget, time);
}

std::shared_ptr<const Plan> Plan::compile_packed(const PackedModel& prepared, const Options& options) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  return build(prepared.model, options, &prepared, budget, TimeLimit(model_limits().compile_seconds));
}

std::shared_ptr<const Plan> Plan::build(const std::shared_ptr<const Model>& model, const Options& options,
                                        const PackedModel* packed, const HostBudget& budget, const TimeLimit& time) {
  PackedStore store;
  if (packed)
    for (const auto& constant : packed->constants) store.add(constant.stand_in.data(), constant.packed);
  Lowered lowered(described(model, options, nullptr, {}), false);
  describe_ports(lowered.plan);
  lower_in_arena(lowered.plan, nullptr, packed ? &store : nullptr, budget, [&] { lowered.walk.run(time); });
  return finish(std::move(lowered.plan), lowered.walk.part_requests());
}

std::shared_ptr<const Plan> Plan::compile_prepared(const std::shared_ptr<const Model>& prepared, const Options& options,
                                                   SharedParts& shared, std::span<const Growth> growths,
                                                   Relowering* before) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const TimeLimit time(model_limits().compile_seconds);
  const auto lower = [&](Lowered& lowered, const auto& walk) {
    describe_ports(lowered.plan);
    bool is_done = false;
    lower_in_arena(lowered.plan, &shared, nullptr, budget, [&] { is_done = walk(lowered.walk); });
    // A constant that was read although only packed forms of it exist has memory in the next attempt.
    return is_done && !shared.constants.were_read(lowered.plan.stand_ins);
  };
  const bool had_one = before && before->lowered;
  if (before && before->is_worth_trying() && std::ranges::equal(before->lowered->plan.growths, growths)) {
    const auto lowered = std::exchange(before->lowered, nullptr);
    if (lower(*lowered, [&](Walk& walk) { return walk.again(before->changed, time); })) {
      before->lowered = lowered;
      before->was_used = true;
      before->failures = 0;
      return finish(PlanImpl(lowered->plan), lowered->walk.part_requests());
    }
  }
  for (;;) {
    const auto lowered = std::make_shared<Lowered>(described(prepared, options, &shared, growths), before != nullptr);
    const auto walk_all = [&](Walk& walk) {
      walk.run(time);
      return true;
    };
    if (!lower(*lowered, walk_all)) continue;
    if (!before) return finish(std::move(lowered->plan), lowered->walk.part_requests());
    before->lowered = lowered;
    before->was_used = false;
    before->failures += had_one;
    return finish(PlanImpl(lowered->plan), lowered->walk.part_requests());
  }
}

std::shared_ptr<const Plan> Plan::finish(PlanImpl lowered, const std::vector<PartRequest>& requests) {
  std::shared_ptr<Plan> plan(new Plan);
  plan->impl_ = std::make_unique<PlanImpl>(std::move(lowered));
  PlanImpl& impl = *plan->impl_;
  impl.stand_ins.clear();
  grant_parts(impl, requests);
  find_strided_inputs(impl);
  for (const Growth& growth : impl.growths) impl.input_read_strided[growth.parameter] = true;
  std::vector<std::span<const Operand>> operands;
  for (const auto& step : impl.steps) operands.emplace_back(step->operands);
  impl.arena_bytes = planning::plan_memory(impl.buffers, operands);
  if (impl.arena_bytes > allowed_bytes())
    throw Error(Code::kResourceExhausted,
                "CPU: '" + impl.model->get_friendly_name() + "' needs " + std::to_string(impl.arena_bytes) +
                    " bytes for the values between its nodes" + limit_text(limit_property::kBytes, allowed_bytes()));
  return plan;
}

}  // namespace tenon::inline v1::engine
