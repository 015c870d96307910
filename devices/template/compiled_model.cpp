// SPDX-License-Identifier: Apache-2.0
// Compiled models and requests of the template device.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <ostream>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/template/template.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::template_device {
namespace {

/// The ledger's entry for results that had to be copied into the user's tensor.
EdgeId result_edge() {
  static const EdgeId edge = register_edge("TEMPLATE: result");
  return edge;
}

/// A variable, as applications see it between inferences.
class State final : public VariableStateImpl {
 public:
  State(const Node& assign, std::shared_ptr<VariableMap> values)
      : name_(assign.get_attributes().get_string("variable_id")),
        type_(assign.get_input_element_type(0)),
        shape_(assign.get_input_partial_shape(0)),
        values_(std::move(values)) {}
  std::string name() const override { return name_; }
  Tensor state() const override {
    const auto found = values_->find(name_);
    return found == values_->end() ? Tensor() : found->second;
  }
  void set_state(const Tensor& state) override {
    if (!state || state.element_type() != type_ || !shape_.compatible(PartialShape(state.shape())))
      throw Error(Code::kInvalidArgument, std::string(kName) + ": state '" + name_ + "' is " + type_.to_string() + ' ' +
                                              shape_.to_string() + ", given was " +
                                              (state ? to_string(state) : std::string("an empty tensor")));
    // A copy, because the caller's tensor may change or be destroyed.
    Tensor copy;
    device_view(state).copy_to(copy);
    (*values_)[name_] = std::move(copy);
  }
  void reset() override { values_->erase(name_); }

 private:
  std::string name_;
  element::Type type_;
  PartialShape shape_;
  std::shared_ptr<VariableMap> values_;
};

/// A model of static shapes without state. All tensors are allocated with the request, and an inference only calls
/// kernels. A real device has its command list here.
class Program {
 public:
  explicit Program(const Model& model) {
    std::map<std::pair<const Node*, std::size_t>, std::size_t> slots;
    const auto slot_of = [&](const Output<Node>& output) { return slots.at({output.get_node(), output.get_index()}); };
    const auto& parameters = model.get_parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) slots[{parameters[i].get(), 0}] = add_slot({});
    for (const auto& node : model.get_ordered_ops()) {
      if (is_op(node, "Parameter")) continue;
      if (const auto* result = as_type<op::v0::Result>(node.get())) {
        (void)result;
        continue;
      }
      if (const auto* constant = as_type<op::v0::Constant>(node.get())) {
        slots[{node.get(), 0}] = add_slot(constant->get_tensor());
        continue;
      }
      Call call;
      call.node = node;
      for (const auto& source : node->input_values()) call.reads.push_back(slot_of(source));
      for (std::size_t i = 0; i < node->get_output_size(); ++i) {
        slots[{node.get(), i}] = add_slot(Tensor(node->get_output_element_type(i), node->get_output_shape(i)));
        call.writes.push_back(slots[{node.get(), i}]);
      }
      call.inputs.resize(call.reads.size());
      call.outputs.resize(call.writes.size());
      calls_.push_back(std::move(call));
    }
    // A result that a kernel computes and that no other result shares is written to the user's tensor.
    std::map<std::size_t, int> users;
    for (const auto& result : model.get_results()) {
      results_.push_back({slot_of(result->input_value(0)), false});
      ++users[results_.back().slot];
    }
    for (Result& result : results_)
      for (const Call& call : calls_)
        result.in_place |= users[result.slot] == 1 && std::count(call.writes.begin(), call.writes.end(), result.slot);
    refresh();
  }

  void bind_input(std::size_t index, const Tensor& tensor) {
    tensors_[index] = device_view(tensor);
    refresh();
  }
  void bind_output(std::size_t index, const Tensor& tensor) {
    results_[index].target = device_view(tensor);
    if (results_[index].in_place && tensor) tensors_[results_[index].slot] = results_[index].target;
    refresh();
  }

  void run(Inference& inference, std::vector<ProfilingInfo>* profile) {
    for (Call& call : calls_) {
      inference.throw_if_cancelled();  // Between kernels, so that cancel() takes effect soon.
      const auto begin = std::chrono::steady_clock::now();
      evaluate_planned(*call.node, call.inputs, call.planned, call.outputs);
      if (profile) profile->push_back(timing(*call.node, begin));
    }
    for (const Result& result : results_) {
      if (result.in_place) continue;
      const Tensor& made = tensors_[result.slot];
      Tensor target = result.target;
      made.copy_to(target);
      inference.ledger().book_copied(result_edge(), made.size_bytes());
    }
  }

  static ProfilingInfo timing(const Node& node, std::chrono::steady_clock::time_point begin) {
    ProfilingInfo info;
    info.status = ProfilingInfo::Status::EXECUTED;
    info.real_time = info.cpu_time =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    info.node_name = node.get_friendly_name();
    info.node_type = node.get_type_name();
    info.exec_type = "reference";
    return info;
  }

 private:
  struct Call {
    std::shared_ptr<const Node> node;
    std::vector<std::size_t> reads, writes;  // Slots.
    std::vector<Tensor> inputs, outputs;     // The tensors that are currently in them.
    std::vector<Tensor> planned;             // The outputs again: a kernel may put tensors of its own in their place.
  };
  struct Result {
    std::size_t slot;
    bool in_place;
    Tensor target = {};
  };
  std::size_t add_slot(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return tensors_.size() - 1;
  }
  /// Bindings change rarely, so calls hold the tensors themselves, and an inference needs no look-ups.
  void refresh() {
    for (Call& call : calls_) {
      for (std::size_t i = 0; i < call.reads.size(); ++i) call.inputs[i] = tensors_[call.reads[i]];
      for (std::size_t i = 0; i < call.writes.size(); ++i) call.outputs[i] = tensors_[call.writes[i]];
      call.planned = call.outputs;
    }
  }
  std::vector<Tensor> tensors_;
  std::vector<Call> calls_;
  std::vector<Result> results_;
};

/// Whether a Program can be made: all shapes are known, and every node has a kernel (states have none).
bool is_plain(const Model& model) {
  for (const auto& node : model.get_ordered_ops()) {
    if (node->is_dynamic()) return false;
    if (is_op(node, "Parameter") || is_op(node, "Result") || is_op(node, "Constant")) continue;
    if (!node->operation().evaluate) return false;
  }
  return true;
}

class Request final : public InferRequestImpl {
 public:
  explicit Request(std::shared_ptr<const CompiledModel> owner)
      : owner_(std::move(owner)),
        inputs_(owner_->ports().inputs.size()),
        outputs_(owner_->ports().outputs.size()),
        variables_(std::make_shared<VariableMap>()) {
    if (is_plain(owner_->model())) program_ = std::make_unique<Program>(owner_->model());
    for (const auto& node : owner_->model().get_ordered_ops())
      if (is_op(node, "Assign")) states_.push_back(std::make_shared<State>(*node, variables_));
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_.at(index) = device_view(tensor);
    if (program_) program_->bind_input(index, tensor);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_.at(index) = device_view(tensor);
    if (program_) program_->bind_output(index, tensor);
  }

  void run(Inference& inference) override {
    profile_.clear();
    ran_ = false;
    std::vector<ProfilingInfo>* profile = owner_->config().profiling ? &profile_ : nullptr;
    if (program_)
      program_->run(inference, profile);
    else
      interpret(inference, profile);
    ran_ = true;
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!owner_->config().profiling || !ran_) return InferRequestImpl::profiling_info();  // Throws.
    return profile_;
  }
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return states_; }

 private:
  /// Dynamic shapes and states: runs node by node.
  void interpret(Inference& inference, std::vector<ProfilingInfo>* profile) {
    auto begin = std::chrono::steady_clock::now();
    const auto results =
        evaluate(owner_->model(), inputs_, variables_.get(), [&](const Node& node, const std::vector<Tensor>&) {
          inference.throw_if_cancelled();
          if (profile) profile->push_back(Program::timing(node, begin));
          begin = std::chrono::steady_clock::now();
        });
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool is_static = owner_->ports().outputs[i].get_partial_shape().is_static();
      Tensor target = is_static ? outputs_[i] : device_view(inference.output(i, results[i].shape()));
      results[i].copy_to(target);
      inference.ledger().book_copied(result_edge(), results[i].size_bytes());
    }
  }

  std::shared_ptr<const CompiledModel> owner_;
  std::vector<Tensor> inputs_, outputs_;
  std::unique_ptr<Program> program_;
  std::shared_ptr<VariableMap> variables_;
  std::vector<std::shared_ptr<VariableStateImpl>> states_;
  std::vector<ProfilingInfo> profile_;
  bool ran_ = false;
};

}  // namespace

CompiledModel::CompiledModel(std::shared_ptr<const Model> model, const Config& config,
                             std::shared_ptr<RemoteContextImpl> context)
    : CompiledModelImpl(Ports::of(*model)), model_(std::move(model)), config_(config), context_(std::move(context)) {
  table_.add_constant(model_name, model_->get_friendly_name());
  table_.add_constant(optimal_number_of_infer_requests,
                      static_cast<std::uint32_t>(std::max<std::size_t>(1, config_.stream_count())));
  table_.add_constant(execution_devices, std::vector<std::string>{kName});
  table_.add_constant(num_streams, streams::Num(static_cast<std::int32_t>(config_.stream_count())));
  table_.add_constant(enable_profiling, config_.profiling);
  table_.add_constant(hint::performance_mode, config_.mode);
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() {
  return std::make_unique<Request>(shared_from_this());
}

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  if (tensor.is_host_addressable() || lies_on_device(tensor)) return std::nullopt;
  return CompiledModelImpl::refuses_input(index, tensor);
}
std::optional<Refusal> CompiledModel::refuses_output(std::size_t index, const Tensor& tensor) const {
  if (lies_on_device(tensor) && tensor.is_contiguous()) return std::nullopt;
  return CompiledModelImpl::refuses_output(index, tensor);
}

void CompiledModel::export_model(std::ostream& stream) const { write_model_blob(stream, *model_, kBlobFormat); }

}  // namespace tenon::inline v1::template_device
