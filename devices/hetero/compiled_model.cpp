// SPDX-License-Identifier: Apache-2.0
// Runs the parts in order on shared tensors.
#include <algorithm>
#include <atomic>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/hetero/hetero.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::hetero {
namespace {

/// Edge for results that are copied into the user's tensor: of dynamic shape, or not computed by a part.
EdgeId result_edge() {
  static const EdgeId edge = register_edge("HETERO: result");
  return edge;
}

/// A variable's tensor between inferences. Two tensors alternate: one inference writes what the next one
/// reads, and nothing is copied.
struct StateValue {
  Tensor current, next;
};

class State final : public VariableStateImpl {
 public:
  State(const Variable& variable, StateValue& value) : variable_(variable), value_(value) {}
  std::string name() const override { return variable_.id; }
  Tensor state() const override { return value_.current; }
  void set_state(const Tensor& state) override {
    if (!state || state.element_type() != variable_.type || !variable_.shape.compatible(PartialShape(state.shape())))
      throw Error(Code::kInvalidArgument, "HETERO: state '" + variable_.id + "' is " + variable_.type.to_string() +
                                              ' ' + variable_.shape.to_string() + ", given was " +
                                              (state ? to_string(state) : std::string("an empty tensor")));
    // Copied, because the caller's tensor may change or disappear.
    Tensor copy(state.element_type(), state.shape());
    state.copy_to(copy);
    value_.current = std::move(copy);
  }
  void reset() override { value_.current = Tensor(); }

 private:
  const Variable& variable_;
  StateValue& value_;
};

class Request final : public InferRequestImpl {
 public:
  explicit Request(std::shared_ptr<CompiledModel> owner)
      : owner_(std::move(owner)),
        values_(plan().value_count),
        inputs_(plan().inputs.size()),
        outputs_(plan().outputs.size()),
        states_(plan().variables.size()) {
    for (const auto& [value, tensor] : plan().constants) values_[value].tensor = tensor;
    for (std::size_t p = 0; p < plan().parts.size(); ++p) {
      tenon::CompiledModel model = owner_->parts()[p].model;
      Running running{model.create_infer_request(), {}, {}};
      running.read.resize(plan().parts[p].inputs.size());
      running.written.resize(plan().parts[p].outputs.size());
      for (std::size_t k = 0; k < running.written.size(); ++k) {
        const ValueId value = plan().parts[p].outputs[k];
        values_[value].is_static = owner_->parts()[p].model.output(k).get_partial_shape().is_static();
        values_[value].is_made = true;
        // The next part reads from the producer's own memory.
        if (values_[value].is_static) assign(value, running.request.get_output_tensor(k));
        running.written[k] = values_[value].version;
      }
      parts_.push_back(std::move(running));
    }
    for (std::size_t i = 0; i < states_.size(); ++i)
      handles_.push_back(std::make_shared<State>(plan().variables[i], states_[i]));
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_[index] = tensor;
    assign(plan().inputs[index], tensor);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_[index] = tensor;
    const ValueId value = plan().outputs[index];
    // The part writes to the user's tensor, and later parts read there.
    if (tensor && values_[value].is_made && values_[value].is_static && is_first(index)) assign(value, tensor);
  }

  void run(Inference& inference) override {
    current_.store(nullptr);
    prepare_states();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      inference.throw_if_cancelled();
      run_part(p, inference);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) deliver(i, inference);
    // Only a complete inference changes the states.
    for (std::size_t i = 0; i < states_.size(); ++i) advance(i);
    ran_ = true;
  }

  void cancel() noexcept override {
    if (InferRequest* running = current_.load()) {
      try {
        running->cancel();
      } catch (...) {  // Ignored: the inference ended by itself.
      }
    }
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!ran_) return InferRequestImpl::profiling_info();
    std::vector<ProfilingInfo> all;
    for (const Running& part : parts_)
      for (ProfilingInfo& info : part.request.get_profiling_info()) all.push_back(std::move(info));
    return all;
  }
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return handles_; }

 private:
  /// A tensor between parts. Its version changes with the tensor, so that only changed ones are bound again.
  struct Value {
    Tensor tensor;
    std::uint64_t version = 0;
    bool is_made = false, is_static = true;
  };
  struct Running {
    InferRequest request;
    std::vector<std::uint64_t> read, written;  ///< The versions currently bound.
  };
  const Partition& plan() const { return owner_->partition(); }
  void assign(ValueId value, const Tensor& tensor) {
    values_[value].tensor = tensor;
    ++values_[value].version;
  }
  /// Several results may share a value: the first gets it in place.
  bool is_first(std::size_t index) const {
    const auto& all = plan().outputs;
    return std::find(all.begin(), all.end(), all[index]) == all.begin() + static_cast<std::ptrdiff_t>(index);
  }

  void run_part(std::size_t p, const Inference& inference) {
    Running& part = parts_[p];
    const Part& described = plan().parts[p];
    for (std::size_t k = 0; k < described.inputs.size(); ++k) {
      const Value& value = values_[described.inputs[k]];
      if (part.read[k] == value.version && value.version != 0) continue;
      part.request.set_input_tensor(k, value.tensor);
      part.read[k] = value.version;
    }
    for (std::size_t k = 0; k < described.outputs.size(); ++k) {
      const Value& value = values_[described.outputs[k]];
      if (!value.is_static || part.written[k] == value.version) continue;
      part.request.set_output_tensor(k, value.tensor);
      part.written[k] = value.version;
    }
    current_.store(&part.request);
    run_member(part.request, inference);
    current_.store(nullptr);
    for (std::size_t k = 0; k < described.outputs.size(); ++k)
      if (!values_[described.outputs[k]].is_static) assign(described.outputs[k], part.request.get_output_tensor(k));
  }

  void deliver(std::size_t index, Inference& inference) {
    const Value& value = values_[plan().outputs[index]];
    if (value.is_made && value.is_static && is_first(index)) return;
    const bool is_static = owner_->ports().outputs[index].get_partial_shape().is_static();
    Tensor target = is_static ? outputs_[index] : inference.output(index, value.tensor.shape());
    value.tensor.copy_to(target);
    inference.ledger().book_copied(result_edge(), value.tensor.size_bytes());
  }

  void prepare_states() {
    bool missing = false;
    for (std::size_t i = 0; i < states_.size(); ++i) missing |= !states_[i].current;
    if (missing) initialise();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const Variable& variable = plan().variables[i];
      if (variable.before != kNoValue) assign(variable.before, states_[i].current);
      if (variable.after == kNoValue) continue;
      const Value& after = values_[variable.after];
      // A new value that is also a model result is in the user's tensor.
      const auto& outputs = plan().outputs;
      if (!after.is_made || !after.is_static || std::count(outputs.begin(), outputs.end(), variable.after)) continue;
      if (!states_[i].next) states_[i].next = Tensor(after.tensor.element_type(), after.tensor.shape());
      assign(variable.after, states_[i].next);
    }
  }
  void initialise() {
    std::vector<Tensor> values;
    if (plan().initialiser) values = evaluate(*plan().initialiser, inputs_);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].current) continue;
      const auto& with = plan().initialised;
      const auto found = std::find(with.begin(), with.end(), i);
      if (found != with.end()) {
        values[static_cast<std::size_t>(found - with.begin())].copy_to(states_[i].current);
        continue;
      }
      const Variable& variable = plan().variables[i];
      if (variable.shape.is_dynamic())
        throw Error(Code::kFailedPrecondition, "HETERO: state '" + variable.id + "' of shape " +
                                                   variable.shape.to_string() +
                                                   " has no initial value; set_state() gives one");
      states_[i].current = Tensor(variable.type, variable.shape.to_shape());
      std::fill_n(static_cast<std::uint8_t*>(states_[i].current.data()), states_[i].current.size_bytes(),
                  std::uint8_t{0});
    }
  }
  void advance(std::size_t i) {
    const ValueId after = plan().variables[i].after;
    if (after == kNoValue) return;
    if (states_[i].next && values_[after].tensor.data() == states_[i].next.data()) {
      std::swap(states_[i].current, states_[i].next);
      return;
    }
    // Stored elsewhere (a result, or of dynamic shape): the variable keeps a copy.
    Tensor copy;
    values_[after].tensor.copy_to(copy);
    states_[i].current = std::move(copy);
  }

  std::shared_ptr<CompiledModel> owner_;
  std::vector<Value> values_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<Running> parts_;
  std::vector<StateValue> states_;
  std::vector<std::shared_ptr<VariableStateImpl>> handles_;
  std::atomic<InferRequest*> current_{nullptr};
  bool ran_ = false;
};

template <typename T, PropertyMutability M>
std::optional<T> ask(const tenon::CompiledModel& model, const Property<T, M>& property) {
  try {
    return model.get_property(property);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

CompiledModel::CompiledModel(Ports ports, std::string name, Partition partition, std::vector<Compiled> parts,
                             std::shared_ptr<const Model> described)
    : CompiledModelImpl(std::move(ports)),
      name_(std::move(name)),
      partition_(std::move(partition)),
      parts_(std::move(parts)),
      described_(std::move(described)) {
  std::uint32_t requests = 1;
  bool profiling = false, from_cache = !parts_.empty();
  std::vector<std::string> devices;
  for (const Compiled& part : parts_) {
    streams_ = std::max(streams_, part.impl->stream_count());
    requests = std::max(requests, ask(part.model, optimal_number_of_infer_requests).value_or(1));
    profiling |= ask(part.model, enable_profiling).value_or(false);
    from_cache &= ask(part.model, loaded_from_cache).value_or(false);
  }
  for (const Part& part : partition_.parts)
    if (std::find(devices.begin(), devices.end(), part.device) == devices.end()) devices.push_back(part.device);
  std::string priorities;
  for (const auto& device : devices) priorities += (priorities.empty() ? "" : ",") + device;
  table_.add_constant(model_name, name_);
  table_.add_constant(optimal_number_of_infer_requests, requests);
  table_.add_constant(execution_devices, devices);
  table_.add(PropertyName(device::properties.name(), PropertyMutability::RO), [this] {
    AnyMap all;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      all.emplace(partition_.parts[i].device, readable_properties(parts_[i].model));
    return Any(all);
  });
  table_.add(PropertyName(device::priorities.name(), PropertyMutability::RO), [priorities] { return Any(priorities); });
  table_.add(PropertyName("HETERO_NUMBER_OF_SUBMODELS", PropertyMutability::RO),
             [count = parts_.size()] { return Any(count); });  // Under OpenVINO's name.
  table_.add_constant(enable_profiling, profiling);
  table_.add_constant(loaded_from_cache, from_cache);
  table_.add_constant(num_streams, streams::Num(static_cast<std::int32_t>(streams_)));
}

std::shared_ptr<const Model> CompiledModel::runtime_model() const {
  return described_ ? described_ : CompiledModelImpl::runtime_model();
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() {
  return std::make_unique<Request>(shared_from_this());
}

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  bool is_read = false;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto& inputs = partition_.parts[p].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] != partition_.inputs[index]) continue;
      is_read = true;
      if (auto refusal = parts_[p].impl->refuses_input(k, tensor)) return refusal;
    }
  }
  // An input that is also an output is copied as host memory.
  const auto& out = partition_.outputs;
  const bool passes = std::find(out.begin(), out.end(), partition_.inputs[index]) != out.end();
  return is_read && !passes ? std::nullopt : CompiledModelImpl::refuses_input(index, tensor);
}

Requirements CompiledModel::requirements() const {
  Requirements all = CompiledModelImpl::requirements();
  for (const Compiled& part : parts_) {
    const auto both = all.join(part.impl->requirements());
    if (const auto* joined = std::get_if<Requirements>(&both)) all = *joined;
  }
  return all;
}

}  // namespace tenon::inline v1::hetero
