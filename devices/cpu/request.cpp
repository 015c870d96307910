// SPDX-License-Identifier: Apache-2.0
// A request on the CPU: bindings, runs, states, times.
#include <algorithm>
#include <chrono>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/cpu/compiled_model.hpp>
#include <tenon/devices/cpu/states.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/limits.hpp>

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
        execution_(owner_->store() ? nullptr : std::make_unique<engine::Execution>(owner_->static_plan())),
        staged_(owner_->store() ? std::make_unique<engine::Staged>(owner_->store()) : nullptr),
        states_(owner_->variables(), execution_.get(), staged_.get()) {}

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_.at(index) = tensor;
    if (execution_) execution_->bind_input(index, tensor);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_.at(index) = tensor;
    if (execution_) execution_->bind_output(index, tensor);
  }

  void run(Inference& inference) override {
    ran_ = false;
    const TimeLimit time(model_limits().infer_seconds);
    time_ = &time;
    if (execution_)
      run_static(inference);
    else
      run_open(inference);
    ran_ = true;
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!owner_->config().profiling) return InferRequestImpl::profiling_info();
    if (!ran_) throw Error(Code::kFailedPrecondition, "CPU: no inference has finished yet, so there are no times");
    std::vector<ProfilingInfo> infos;
    if (execution_) {
      const auto steps = owner_->static_plan()->steps();
      const auto& timings = execution_->timings();
      for (std::size_t i = 0; i < steps.size(); ++i)
        infos.push_back(executed(steps[i], timings[i].start, timings[i].duration));
    } else {
      for (const engine::TimedStep& timed : staged_->timed_steps())
        infos.push_back(executed(timed.step, timed.start, timed.duration));
    }
    const auto whole = execution_ ? owner_->static_plan() : staged_->whole_plan();
    if (!whole) return infos;
    for (const auto& [name, type] : whole->optimized_out()) {
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
  void run_static(Inference& inference) {
    Ending ending{inference, *time_};
    const bool finished = execution_->run(owner_->workers(inference.stream()), ending.asked(), &ending);
    if (const auto bytes = execution_->packed_bytes()) inference.ledger().book_copied(pack_edge(), bytes);
    if (!finished) return throw_if_ended(inference);
    if (owner_->config().profiling) owner_->note_times(execution_->timings());
  }

  /// Runs by plans for the current shapes, which all requests share.
  void run_open(Inference& inference) {
    const std::uint64_t bytes = allowed_bytes();
    if (!budget_ || budget_bytes_ != bytes) {
      budget_.emplace(bytes, limit_text(limit_property::kBytes, bytes));
      budget_bytes_ = bytes;
    }
    const HostBudget::Scope scope(*budget_);
    Ending ending{inference, *time_};
    const auto memory = [&](std::size_t i, ElementType, const Shape& shape) {
      const bool is_fixed = owner_->ports().outputs[i].get_partial_shape().is_static();
      return is_fixed ? outputs_[i] : inference.output(i, shape);
    };
    const auto results = staged_->run(owner_->open_model(), inputs_, owner_->workers(inference.stream()),
                                      {ending.asked(), &ending}, memory, &states_.loose());
    if (const auto moved = staged_->packed_bytes()) inference.ledger().book_copied(pack_edge(), moved);
    if (results.size() != outputs_.size()) return throw_if_ended(inference);
    owner_->note_run(*staged_);
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
  std::optional<HostBudget> budget_;  ///< For dynamic models; a static plan's size is checked when it is compiled.
  std::uint64_t budget_bytes_ = 0;
  std::vector<Tensor> inputs_, outputs_;
  std::unique_ptr<engine::Execution> execution_;  ///< Execution of the static plan; otherwise `staged_` runs.
  std::unique_ptr<engine::Staged> staged_;
  States states_;
  bool ran_ = false;
};

}  // namespace

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner) {
  return std::make_unique<Request>(std::move(owner));
}

}  // namespace tenon::inline v1::cpu_device
