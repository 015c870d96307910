// SPDX-License-Identifier: Apache-2.0
// An ov::InferRequest behind the runtime: tensors bound in place, runs on OpenVINO's own queue.
#include <atomic>
#include <thread>

#include <openvino/runtime/infer_request.hpp>

#include <tenon/devices/openvino/compiled_model.hpp>
#include <tenon/devices/openvino/native.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::openvino_device {
namespace {

EdgeId output_edge() {
  static const EdgeId edge = register_edge("OPENVINO: output of dynamic shape");
  return edge;
}

class State final : public VariableStateImpl {
 public:
  explicit State(const ov::VariableState& native) : native_(native), name_(native_.get_name()) {}
  std::string name() const override { return name_; }
  Tensor state() const override {
    try {
      return openvino::wrap(native_.get_state());
    } catch (...) {
      rethrow("ov::VariableState::get_state", "state " + name_);
    }
  }
  void set_state(const Tensor& value) override {
    try {
      // A copy, because OpenVINO's NPU plugin modifies the given tensor.
      const ov::Tensor given = openvino::tensor(value);
      ov::Tensor own(given.get_element_type(), given.get_shape());
      given.copy_to(own);
      native_.set_state(own);
    } catch (...) {
      rethrow("ov::VariableState::set_state", "state " + name_);
    }
  }
  void reset() override {
    try {
      native_.reset();
    } catch (...) {
      rethrow("ov::VariableState::reset", "state " + name_);
    }
  }

 private:
  ov::VariableState native_;
  std::string name_;
};

ProfilingInfo::Status status_of(ov::ProfilingInfo::Status status) {
  switch (status) {
    case ov::ProfilingInfo::Status::EXECUTED:
      return ProfilingInfo::Status::EXECUTED;
    case ov::ProfilingInfo::Status::OPTIMIZED_OUT:
      return ProfilingInfo::Status::OPTIMIZED_OUT;
    default:
      return ProfilingInfo::Status::NOT_RUN;
  }
}

class Request final : public InferRequestImpl {
 public:
  Request(std::shared_ptr<CompiledModel> owner, ov::InferRequest native)
      : owner_(std::move(owner)), native_(std::move(native)), bound_outputs_(owner_->ports().outputs.size()) {
    const SplitModel& split = owner_->split();
    bound_inputs_.resize(split.inputs.size());
    for (std::size_t i = 0; i < split.stages.size(); ++i) {
      stages_.push_back(split.stages[i]->make_run());
      native_.set_input_tensor(split.stage_targets[i], openvino::pending_tensor(stages_.back()->output()));
    }
    for (const auto& port : owner_->ports().outputs) has_dynamic_output_ |= port.get_partial_shape().is_dynamic();
    for (const ov::VariableState& state : native_.query_state()) states_.push_back(std::make_shared<State>(state));
  }

  ~Request() override {
    // OpenVINO's destructor waits for its callbacks, even for one that calls it.
    if (callback_thread_.load() != std::this_thread::get_id()) return;
    try {
      auto native = std::make_unique<ov::InferRequest>(std::move(native_));
      // If no thread can be started it is leaked, because here it would wait for itself.
      std::thread([last = native.release()] { delete last; }).detach();
    } catch (const std::exception&) {
    }
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    const InputRoute route = owner_->split().inputs.at(index);
    if (route.stage >= 0) return stages_[static_cast<std::size_t>(route.stage)]->bind_plane(route.index, tensor);
    if (is_same(bound_inputs_[index], tensor)) return;
    try {
      // The runtime orders inferences: they are started when the work on their tensors is done.
      native_.set_input_tensor(route.index,
                               tensor ? openvino::pending_tensor(tensor) : placeholder(owner_->ports().inputs[index]));
    } catch (...) {
      rethrow("ov::InferRequest::set_input_tensor", "binding input " + std::to_string(index));
    }
    bound_inputs_[index] = tensor;
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    // Only OpenVINO knows a dynamic output's shape, after the inference: read it from OpenVINO's tensor then.
    if (owner_->ports().outputs.at(index).get_partial_shape().is_dynamic()) return;
    if (is_same(bound_outputs_[index], tensor)) return;
    try {
      native_.set_output_tensor(
          index, tensor ? openvino::pending_tensor(tensor) : placeholder(owner_->ports().outputs[index]));
    } catch (...) {
      rethrow("ov::InferRequest::set_output_tensor", "binding output " + std::to_string(index));
    }
    bound_outputs_[index] = tensor;
  }

  void run(Inference& inference) override {
    has_run_ = false;
    for (const auto& stage : stages_) {
      stage->run();
      inference.throw_if_cancelled();
    }
    try {
      native_.infer();
    } catch (...) {
      rethrow("ov::InferRequest::infer", "an inference on " + owner_->native_device());
    }
    take_dynamic_outputs(inference);
    has_run_ = true;
  }

  /// Input stages run on a runtime thread: OpenVINO's queue cannot run them.
  bool is_asynchronous() const noexcept override { return stages_.empty(); }
  /// ov::InferRequest::infer() runs in the caller's thread, without the cost of start_async() and wait().
  bool runs_in_caller() const noexcept override { return true; }

  void start(Inference& inference) override {
    has_run_ = false;
    current_ = &inference;
    try {
      // Set every time: OpenVINO removes it during the call, when another thread may start the request.
      native_.set_callback([this](std::exception_ptr error) { finish(std::move(error)); });
      native_.start_async();
    } catch (...) {
      current_ = nullptr;
      rethrow("ov::InferRequest::start_async", "an inference on " + owner_->native_device());
    }
  }

  void cancel() noexcept override {
    try {
      native_.cancel();
    } catch (const std::exception&) {  // Only a hint: an inference that completes is finished too.
    }
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!owner_->profiles()) return InferRequestImpl::profiling_info();
    if (!has_run_)
      throw Error(Code::kFailedPrecondition, "OPENVINO: no inference has finished yet, so there are no times");
    std::vector<ProfilingInfo> infos;
    try {
      for (const ov::ProfilingInfo& native : native_.get_profiling_info()) {
        ProfilingInfo info;
        info.status = status_of(native.status);
        info.real_time = native.real_time;
        info.cpu_time = native.cpu_time;
        info.start_time = native.start_time;
        info.node_name = native.node_name;
        info.exec_type = native.exec_type;
        info.node_type = owner_->type_of(native.node_name, native.node_type);
        infos.push_back(std::move(info));
      }
    } catch (...) {
      rethrow("ov::InferRequest::get_profiling_info", "times of an inference on " + owner_->native_device());
    }
    return infos;
  }

  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return states_; }

 private:
  static bool is_same(const Tensor& bound, const Tensor& tensor) {
    return bound && tensor && bound.memory() == tensor.memory() && bound.offset() == tensor.offset() &&
           bound.lease() == tensor.lease() && bound.info() == tensor.info();
  }
  /// Replaces memory that the runtime takes back.
  static ov::Tensor placeholder(const Output<const Node>& port) {
    const ov::element::Type type(openvino::to_native(port.get_element_type()).value());
    ov::Shape shape;
    for (const Dimension& extent : port.get_partial_shape())
      shape.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
    return ov::Tensor(type, shape);
  }

  void take_dynamic_outputs(Inference& inference) {
    if (!has_dynamic_output_) return;
    for (std::size_t i = 0; i < bound_outputs_.size(); ++i) {
      if (owner_->ports().outputs[i].get_partial_shape().is_static()) continue;
      const Tensor made = openvino::wrap(native_.get_output_tensor(i));
      Tensor target = inference.output(i, made.shape());
      made.copy_to(target);
      inference.ledger().book_copied(output_edge(), made.size_bytes());
    }
  }

  /// OpenVINO's callback. The request may be destroyed when Inference::finish() returns.
  void finish(std::exception_ptr error) noexcept {
    Inference& inference = *std::exchange(current_, nullptr);
    if (error) {
      error = translated(error, "ov::InferRequest::start_async", "an inference on " + owner_->native_device());
    } else {
      try {
        take_dynamic_outputs(inference);
        has_run_ = true;
      } catch (...) {
        error = std::current_exception();
      }
    }
    callback_thread_.store(std::this_thread::get_id());
    inference.finish(std::move(error));
  }

  std::shared_ptr<CompiledModel> owner_;
  ov::InferRequest native_;
  std::vector<std::unique_ptr<FrameStage::Run>> stages_;
  std::vector<Tensor> bound_inputs_, bound_outputs_;
  std::vector<std::shared_ptr<VariableStateImpl>> states_;
  Inference* current_ = nullptr;
  std::atomic<std::thread::id> callback_thread_{};
  bool has_dynamic_output_ = false;
  std::atomic<bool> has_run_{false};
};

}  // namespace

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner, ov::InferRequest native) {
  return std::make_unique<Request>(std::move(owner), std::move(native));
}

}  // namespace tenon::inline v1::openvino_device
