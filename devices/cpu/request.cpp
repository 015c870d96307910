// SPDX-License-Identifier: Apache-2.0
// A request on the CPU: bindings, the choice of a plan, states, times.
#include <algorithm>
#include <chrono>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/cpu/compiled_model.hpp>
#include <tenon/devices/cpu/states.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

EdgeId pack_edge() {
  static const EdgeId edge = register_edge("CPU: pack");
  return edge;
}

ProfilingInfo executed(const engine::StepInfo& step, std::chrono::nanoseconds start,
                       std::chrono::nanoseconds duration) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  ProfilingInfo info;
  info.status = ProfilingInfo::Status::EXECUTED;
  info.start_time = duration_cast<microseconds>(start);
  info.real_time = info.cpu_time = duration_cast<microseconds>(duration);
  info.node_name = step.node_name;
  info.node_type = step.node_type;
  info.exec_type = step.kernel;
  return info;
}

class Request final : public InferRequestImpl {
 public:
  explicit Request(std::shared_ptr<CompiledModel> owner)
      : owner_(std::move(owner)),
        inputs_(owner_->ports().inputs.size()),
        outputs_(owner_->ports().outputs.size()),
        states_(owner_->variables()) {
    if (owner_->static_variant()) use(owner_->static_variant());
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_.at(index) = tensor;
    if (owner_->static_variant() && execution_)
      execution_->bind_input(index, tensor);
    else
      rebind_ = true;
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_.at(index) = tensor;
    if (owner_->static_variant() && execution_)
      execution_->bind_output(index, tensor);
    else
      rebind_ = true;
  }

  void run(Inference& inference) override {
    ran_ = false;
    const TimeLimit time(model_limits().infer_seconds);
    time_ = &time;
    if (!owner_->static_variant()) select(inference);
    if (execution_)
      run_plan(inference);
    else
      interpret(inference);
    ran_ = true;
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!owner_->config().profiling) return InferRequestImpl::profiling_info();
    if (ran_ && !execution_) return interpreted_;
    if (!ran_) throw Error(Code::kFailedPrecondition, "CPU: no inference has finished yet, so there are no times");
    std::vector<ProfilingInfo> infos;
    const auto steps = variant_->plan->steps();
    const auto& timings = execution_->timings();
    for (std::size_t i = 0; i < steps.size(); ++i)
      infos.push_back(executed(steps[i], timings[i].start, timings[i].duration));
    for (const auto& [name, type] : variant_->plan->optimized_out()) {
      ProfilingInfo info;
      info.status = ProfilingInfo::Status::OPTIMIZED_OUT;
      info.node_name = name;
      info.node_type = type;
      infos.push_back(std::move(info));
    }
    return infos;
  }

  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return states_.objects(); }

 private:
  void use(std::shared_ptr<const ShapeVariant> variant) {
    states_.leave(execution_.get());
    execution_.reset();
    variant_ = std::move(variant);
    try {
      if (variant_->plan) execution_ = std::make_unique<engine::Execution>(variant_->plan);
      states_.enter(execution_.get());
    } catch (...) {
      variant_.reset();  // The next run tries again.
      execution_.reset();
      throw;
    }
  }

  /// For dynamic models: selects the variant for the bound shapes and binds everything to it.
  void select(Inference& inference) {
    const bool same =
        variant_ &&
        std::equal(inputs_.begin(), inputs_.end(), variant_->input_shapes.begin(), variant_->input_shapes.end(),
                   [](const Tensor& tensor, const Shape& shape) { return tensor.shape() == shape; });
    if (!same) {
      std::vector<Shape> shapes;
      shapes.reserve(inputs_.size());
      for (const Tensor& tensor : inputs_) shapes.push_back(tensor.shape());
      use(owner_->variant_for(shapes));
      rebind_ = true;
    }
    if (!execution_) return;
    if (rebind_)
      for (std::size_t i = 0; i < inputs_.size(); ++i) execution_->bind_input(i, inputs_[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (owner_->ports().outputs[i].get_partial_shape().is_static()) {
        if (rebind_) execution_->bind_output(i, outputs_[i]);
      } else {
        execution_->bind_output(i, inference.output(i, variant_->plan->outputs()[i].shape));
      }
    }
    rebind_ = false;
  }

  void run_plan(Inference& inference) {
    Ending ending{inference, *time_};
    const bool finished = execution_->run(owner_->workers(inference.stream()), ending.asked(), &ending);
    if (const auto bytes = execution_->packed_bytes()) inference.ledger().book_copied(pack_edge(), bytes);
    if (!finished) throw_if_ended(inference);
  }

  /// For shapes that depend on values: runs in stages, or (with states) node by node with reference kernels.
  void interpret(Inference& inference) {
    const std::uint64_t bytes = allowed_bytes();
    if (!budget_ || budget_bytes_ != bytes) {
      budget_.emplace(bytes, limit_text(limit_property::kBytes, bytes));
      budget_bytes_ = bytes;
    }
    std::vector<Tensor> results;
    {
      const HostBudget::Scope scope(*budget_);
      results = owner_->variables().empty() ? run_stages(inference) : run_nodes(inference);
    }
    throw_if_ended(inference);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool is_fixed = owner_->ports().outputs[i].get_partial_shape().is_static();
      Tensor target = is_fixed ? outputs_[i] : inference.output(i, results[i].shape());
      results[i].copy_to(target);
      inference.ledger().book_copied(pack_edge(), results[i].size_bytes());
    }
  }

  std::vector<Tensor> run_stages(Inference& inference) {
    if (!staged_) staged_ = std::make_unique<engine::Staged>(owner_->engine_options());
    Ending ending{inference, *time_};
    auto results =
        staged_->run(owner_->dynamic_model(), inputs_, owner_->workers(inference.stream()), {ending.asked(), &ending});
    interpreted_.clear();
    for (const engine::TimedStep& timed : staged_->timed_steps())
      interpreted_.push_back(executed(timed.step, timed.start, timed.duration));
    return results;
  }

  std::vector<Tensor> run_nodes(Inference& inference) {
    NodeHook hook;
    if (owner_->config().profiling) {
      interpreted_.clear();
      const auto begun = std::chrono::steady_clock::now();
      hook = [this, begun, last = begun](const Node& node, const auto&) mutable {
        const auto now = std::chrono::steady_clock::now();
        interpreted_.push_back(executed({node.get_friendly_name(), node.get_type_name(), "reference", {}, true},
                                        last - begun, now - last));
        last = now;
      };
    }
    NodeRunner runner;
    runner = [&](const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
      throw_if_ended(inference);
      const auto* op = as_type<op::util::MultiSubGraphOp>(&node);
      if (!op) return false;
      outputs = run_subgraph(*op, inputs, [&](std::size_t body, const std::vector<Tensor>& values) {
        throw_if_ended(inference);
        return evaluate(*op->get_function(body), values, nullptr, {}, runner);
      });
      return true;
    };
    return evaluate(*variant_->interpreted, inputs_, &states_.loose(), hook, runner);
  }

  /// Ends an inference early: cancelled or out of time.
  struct Ending {
    Inference& inference;
    const TimeLimit& time;
    /// The clock is read only if a limit is set.
    bool (*asked() const)(void*) {
      if (!time.is_set()) return [](void* self) { return static_cast<Ending*>(self)->inference.cancelled(); };
      return [](void* self) {
        const auto& ending = *static_cast<Ending*>(self);
        return ending.inference.cancelled() || ending.time.is_over();
      };
    }
  };
  void throw_if_ended(Inference& inference) const {
    inference.throw_if_cancelled();
    time_->check("an inference of", owner_->name(), limit_property::kInferSeconds);
  }

  std::shared_ptr<CompiledModel> owner_;
  const TimeLimit* time_ = nullptr;   ///< The limit of the running inference.
  std::optional<HostBudget> budget_;  ///< For models without a plan; a plan's size is checked when it is compiled.
  std::uint64_t budget_bytes_ = 0;
  std::vector<Tensor> inputs_, outputs_;
  std::shared_ptr<const ShapeVariant> variant_;
  std::unique_ptr<engine::Execution> execution_;
  States states_;
  std::unique_ptr<engine::Staged> staged_;
  std::vector<ProfilingInfo> interpreted_;
  bool rebind_ = true;
  bool ran_ = false;
};

}  // namespace

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner) {
  return std::make_unique<Request>(std::move(owner));
}

}  // namespace tenon::inline v1::cpu_device
