// SPDX-License-Identifier: Apache-2.0
// Compiling a model to a plan, and what can be asked of one.
#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/devices/cpu/engine/lowering.hpp>
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

/// Inputs that only kernels with strides read are given to them as they lie.
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

/// Where the step reads buffer `from`, it does so element by element of buffer `to`, which it writes from its begin.
bool works_in_place(const PlanImpl& plan, const Step& step, BufferKind from, std::size_t from_index, BufferKind to,
                    std::size_t to_index) {
  const auto* primitive = dynamic_cast<const PrimitiveStep*>(&step);
  if (primitive) {
    const auto kind = primitive->primitive.get_kind();
    if (kind != dnnl::primitive::kind::eltwise && kind != dnnl::primitive::kind::binary) return false;
  }
  const md* written = nullptr;
  std::size_t writes = 0;
  std::vector<const md*> read;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const Operand& operand = step.operands[i];
    if (!operand.place) continue;
    const Place root = plan.root(operand.place);
    const Buffer& buffer = plan.buffers[root.buffer];
    const bool is_to = buffer.kind == to && buffer.index == to_index;
    if (!is_to && !(buffer.kind == from && buffer.index == from_index)) continue;
    if (root.offset != 0) return false;
    if (is_to) {
      ++writes;
      if (primitive) written = &primitive->arguments[i].second;
    } else if (primitive) {
      read.push_back(&primitive->arguments[i].second);
    } else if (!operand.in_step) {
      return false;
    }
  }
  return writes == 1 && std::all_of(read.begin(), read.end(), [&](const md* desc) { return *desc == *written; });
}

}  // namespace

std::shared_ptr<const Plan> Plan::compile(std::shared_ptr<const Model> model, const Options& options) {
  if (!model) throw Error(Code::kInvalidArgument, "CPU: no model to compile");
  const ModelLimits limits = model_limits();
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const TimeLimit time(limits.compile_seconds);
  std::shared_ptr<const Model> prepared;
  {
    const HostBudget::Scope scope(budget);
    prepared = prepare_model(*model, options, time);
  }
  return build(std::move(prepared), options, nullptr, budget, time);
}

std::shared_ptr<const Plan> Plan::compile_prepared(const PreparedModel& prepared, const Options& options) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  return build(prepared.model, options, &prepared, budget, TimeLimit(model_limits().compile_seconds));
}

std::shared_ptr<const Plan> Plan::build(std::shared_ptr<const Model> model, const Options& options,
                                        const PreparedModel* packed, const HostBudget& budget, const TimeLimit& time) {
  std::shared_ptr<Plan> plan(new Plan);
  plan->impl_ = std::make_unique<PlanImpl>();
  PlanImpl& impl = *plan->impl_;
  impl.options = options;
  if (impl.options.threads <= 0) impl.options.threads = Workers::available_cpus();
  impl.engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
  impl.model = std::move(model);
  const auto store = packed ? std::make_unique<PackedStore>(*packed) : nullptr;
  impl.store = store.get();
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
      Lowering(impl, *impl.model).run(time);
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
  if (failure) std::rethrow_exception(failure);
  find_strided_inputs(impl);
  impl.arena_bytes = plan_memory(impl);
  if (impl.arena_bytes > allowed_bytes())
    throw Error(Code::kResourceExhausted,
                "CPU: '" + impl.model->get_friendly_name() + "' needs " + std::to_string(impl.arena_bytes) +
                    " bytes for the values between its nodes" + limit_text(limit_property::kBytes, allowed_bytes()));
  return plan;
}

Plan::~Plan() = default;

const std::vector<Port>& Plan::inputs() const { return impl_->inputs; }
const std::vector<Port>& Plan::outputs() const { return impl_->outputs; }
const Options& Plan::options() const { return impl_->options; }
bool Plan::reads_strided(std::size_t input) const { return impl_->input_read_strided.at(input); }
bool Plan::may_share(std::size_t input, std::size_t output) const {
  std::size_t last_read = 0, first_write = impl_->steps.size();
  bool is_read = false;
  for (std::size_t i = 0; i < impl_->steps.size(); ++i) {
    for (const Operand& operand : impl_->steps[i]->operands) {
      if (!operand.place) continue;
      const Buffer& buffer = impl_->buffers[impl_->root(operand.place).buffer];
      if (buffer.kind == BufferKind::kInput && buffer.index == input) {
        last_read = i;
        is_read = true;
      }
      if (buffer.kind == BufferKind::kOutput && buffer.index == output) first_write = std::min(first_write, i);
    }
  }
  if (!is_read || last_read < first_write) return true;
  return last_read == first_write &&
         works_in_place(*impl_, *impl_->steps[first_write], BufferKind::kInput, input, BufferKind::kOutput, output);
}
std::vector<StepInfo> Plan::steps() const {
  std::vector<StepInfo> infos;
  for (const auto& step : impl_->steps) infos.push_back(step->info);
  return infos;
}
std::vector<std::pair<std::string, std::string>> Plan::optimized_out() const { return impl_->optimized_out; }
std::size_t Plan::reference_step_count() const {
  std::size_t count = 0;
  for (const auto& step : impl_->steps) count += step->info.is_reference;
  return count;
}
std::size_t Plan::arena_bytes() const { return impl_->arena_bytes; }
std::size_t Plan::constant_bytes() const {
  std::size_t bytes = 0;
  for (const Buffer& buffer : impl_->buffers)
    if (buffer.kind == BufferKind::kConstant) bytes += buffer.size_bytes;
  return bytes;
}

}  // namespace tenon::inline v1::engine
