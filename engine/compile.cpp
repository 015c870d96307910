// SPDX-License-Identifier: Apache-2.0
// Compiling a model to a plan: passes, the walk, memory.
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/lower/walk.hpp>
#include <tenon/engine/packed_model.hpp>
#include <tenon/engine/plan/memory_plan.hpp>
#include <tenon/graph/limits.hpp>

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
      const Place root = plan.root(operand.place);
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
  return build(std::move(prepared), options, nullptr, nullptr, {}, budget, time);
}

std::shared_ptr<const Plan> Plan::compile_prepared(const std::shared_ptr<const Model>& prepared, const Options& options,
                                                   SharedParts& shared, std::span<const Growth> growths) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const TimeLimit time(model_limits().compile_seconds);
  for (;;) {
    auto plan = build(prepared, options, nullptr, &shared, growths, budget, time);
    // A constant that was read although only packed forms of it exist has memory in the next attempt.
    const auto given = std::exchange(plan->impl_->stand_ins, {});
    if (!shared.constants.were_read(given)) return plan;
  }
}

std::shared_ptr<const Plan> Plan::compile_packed(const PackedModel& prepared, const Options& options) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  return build(prepared.model, options, &prepared, nullptr, {}, budget, TimeLimit(model_limits().compile_seconds));
}

std::shared_ptr<const Plan> Plan::build(std::shared_ptr<const Model> model, const Options& options,
                                        const PackedModel* packed, SharedParts* shared, std::span<const Growth> growths,
                                        const HostBudget& budget, const TimeLimit& time) {
  std::shared_ptr<Plan> plan(new Plan);
  plan->impl_ = std::make_unique<PlanImpl>();
  PlanImpl& impl = *plan->impl_;
  impl.options = options;
  if (impl.options.threads <= 0) impl.options.threads = Workers::available_cpus();
  impl.engine = shared ? shared->engine : dnnl::engine(dnnl::engine::kind::cpu, 0);
  impl.model = std::move(model);
  PackedStore store;
  if (packed)
    for (const auto& constant : packed->constants) store.add(constant.stand_in.data(), constant.packed);
  impl.store = packed ? &store : nullptr;
  SharedPrimitives own;
  impl.shared = shared;
  impl.growths.assign(growths.begin(), growths.end());
  impl.primitives = shared ? &shared->primitives : &own;
  for (const auto& parameter : impl.model->get_parameters())
    impl.inputs.push_back(make_port(Output<const Node>(parameter.get(), 0), *parameter));
  for (const auto& result : impl.model->get_results())
    impl.outputs.push_back(make_port(Output<const Node>(result.get(), 0), *result));
  std::exception_ptr failure;
  // oneDNN sizes its kernels by the arena that they are made in.
  WorkerOptions making;
  making.threads = impl.options.threads;
  making.active = impl.options.compile_threads;
  Workers workers(making);
  workers.run([&] {
    try {
      const HostBudget::Scope scope(budget);
      lower(impl, *impl.model, time);
    } catch (const dnnl::error& error) {
      failure = std::make_exception_ptr(
          Error(Code::kInternal,
                std::string("CPU: compiling '") + impl.model->get_friendly_name() + "' failed: " + error.what(),
                "oneDNN", error.status));
    } catch (...) {
      failure = std::current_exception();
    }
  });
  impl.store = nullptr;
  impl.shared = nullptr;
  impl.primitives = nullptr;
  if (failure) std::rethrow_exception(failure);
  find_strided_inputs(impl);
  for (const Growth& growth : impl.growths) impl.input_read_strided[growth.parameter] = true;
  std::vector<std::span<const Operand>> operands;
  for (const auto& step : impl.steps) operands.emplace_back(step->operands);
  impl.arena_bytes = plan_memory(impl.buffers, operands);
  if (impl.arena_bytes > allowed_bytes())
    throw Error(Code::kResourceExhausted,
                "CPU: '" + impl.model->get_friendly_name() + "' needs " + std::to_string(impl.arena_bytes) +
                    " bytes for the values between its nodes" + limit_text(limit_property::kBytes, allowed_bytes()));
  return plan;
}

}  // namespace tenon::inline v1::engine
