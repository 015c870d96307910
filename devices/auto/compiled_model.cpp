// SPDX-License-Identifier: Apache-2.0
// A model on the device chosen by AUTO; its requests follow a change of device.
#include <algorithm>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/auto/auto.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::auto_device {
namespace {

/// Edge for results of dynamic shape, which are copied into the request's tensor.
EdgeId result_edge() {
  static const EdgeId edge = register_edge("AUTO: result");
  return edge;
}

/// A request that may move to another device. State accesses go to the request currently in use.
class Request final : public InferRequestImpl {
 public:
  Request(std::shared_ptr<AutoModel> owner, std::shared_ptr<Choice> choice)
      : owner_(std::move(owner)),
        choice_(std::move(choice)),
        inputs_(owner_->ports().inputs.size()),
        outputs_(owner_->ports().outputs.size()) {
    follow();
    for (const auto& state : request_.query_state()) holds_[state.get_name()] = false;
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_[index] = tensor;
    follow();
    if (tensor) request_.set_input_tensor(index, tensor);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_[index] = tensor;
    follow();
    if (tensor && is_static(index)) request_.set_output_tensor(index, tensor);
  }

  void run(Inference& inference) override {
    for (;;) {
      inference.throw_if_cancelled();
      follow();
      try {
        run_member(request_, inference);
        break;
      } catch (const Cancelled&) {
        throw;
      } catch (const std::exception& error) {
        if (!choice_->config().runtime_fallback || !choice_->give_up(*target_, error.what())) throw;
      }
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (is_static(i)) continue;
      const Tensor made = request_.get_output_tensor(i);
      Tensor target = inference.output(i, made.shape());
      made.copy_to(target);
      inference.ledger().book_copied(result_edge(), made.size_bytes());
    }
    ran_ = true;
    if (noted_ != target_.get()) owner_->note_ran(*choice_, target_);
    noted_ = target_.get();
    for (auto& [name, holds] : holds_) holds = true;
  }

  void cancel() noexcept override {
    try {
      InferRequest running;
      {
        const std::lock_guard lock(mutex_);
        running = request_;  // Kept alive: run() may move to another device meanwhile.
      }
      running.cancel();
    } catch (...) {  // Ignored: the inference ended by itself.
    }
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!ran_) return InferRequestImpl::profiling_info();
    return request_.get_profiling_info();
  }

  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override;

  /// The state in the request currently in use.
  VariableState state(const std::string& name) {
    for (VariableState& each : request_.query_state())
      if (each.get_name() == name) return each;
    throw Error(Code::kNotFound, "AUTO: the device in use has no state '" + name + "'");
  }
  void set_holds(const std::string& name, bool holds) { holds_[name] = holds; }

 private:
  bool is_static(std::size_t index) const { return owner_->ports().outputs[index].get_partial_shape().is_static(); }

  /// Moves to the device in use: creates a request there with the same tensors and states.
  void follow() {
    const std::uint64_t generation = choice_->generation();
    if (generation == generation_) return;
    const auto target = choice_->current();
    CompiledModel model = target->model;
    InferRequest moved = model.create_infer_request();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i]) moved.set_input_tensor(i, inputs_[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i] && is_static(i)) moved.set_output_tensor(i, outputs_[i]);
    if (request_) carry_states(moved);
    {
      const std::lock_guard lock(mutex_);
      std::swap(request_, moved);
    }
    target_ = target;
    generation_ = generation;
  }
  /// States that were not set since creation or reset start with the model's own value there too.
  void carry_states(InferRequest& moved) {
    for (auto& to : moved.query_state())
      if (holds_[to.get_name()]) to.set_state(state(to.get_name()).get_state());
  }

  std::shared_ptr<AutoModel> owner_;
  std::shared_ptr<Choice> choice_;
  std::vector<Tensor> inputs_, outputs_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const Target> target_;
  const Target* noted_ = nullptr;  ///< Whose inferences the model knows of.
  std::mutex mutex_;               ///< Guards request_: run() replaces it while another thread cancels.
  InferRequest request_;
  std::map<std::string, bool> holds_;  ///< States with a value that was not initialised.
  bool ran_ = false;
};

/// A state, by its name in the request currently in use.
class State final : public VariableStateImpl {
 public:
  State(Request& request, std::string name) : request_(request), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Tensor state() const override { return request_.state(name_).get_state(); }
  void set_state(const Tensor& state) override {
    request_.state(name_).set_state(state);
    request_.set_holds(name_, true);
  }
  void reset() override {
    request_.state(name_).reset();
    request_.set_holds(name_, false);
  }

 private:
  Request& request_;
  std::string name_;
};

std::vector<std::shared_ptr<VariableStateImpl>> Request::query_state() {
  std::vector<std::shared_ptr<VariableStateImpl>> all;
  for (auto& state : request_.query_state()) all.push_back(std::make_shared<State>(*this, state.get_name()));
  return all;
}

}  // namespace

AutoModel::AutoModel(const Model& model, std::vector<std::shared_ptr<Choice>> choices)
    : CompiledModelImpl(Ports::of(model)), choices_(std::move(choices)) {
  const Config& config = choices_.front()->config();
  table_.add_constant(model_name, model.get_friendly_name());
  table_.add(PropertyName(execution_devices.name(), PropertyMutability::RO), [this] { return Any(execution()); });
  table_.add(PropertyName(optimal_number_of_infer_requests.name(), PropertyMutability::RO), [this] {
    std::uint32_t count = 0;
    for (const auto& choice : choices_)
      count += choice->current()->model.get_property(optimal_number_of_infer_requests);
    return Any(count);
  });
  table_.add(PropertyName(device::priorities.name(), PropertyMutability::RO),
             [config] { return Any(config.priorities); });
  table_.add(PropertyName(hint::model_priority.name(), PropertyMutability::RO),
             [config] { return Any(config.priority); });
  table_.add(PropertyName(hint::performance_mode.name(), PropertyMutability::RO),
             [config] { return Any(config.mode); });
  table_.add(PropertyName(intel_auto::schedule_policy.name(), PropertyMutability::RO),
             [config] { return Any(config.policy); });
  table_.add(PropertyName(auto_device::spreads_throughput.name(), PropertyMutability::RO),
             [config] { return Any(config.spreads_throughput); });
  // Set for AUTO, or for the member alone by DEVICE_PROPERTIES.
  table_.add(PropertyName(enable_profiling.name(), PropertyMutability::RO),
             [this] { return Any(choices_.front()->current()->model.get_property(enable_profiling)); });
  table_.add(PropertyName(device::properties.name(), PropertyMutability::RO), [this] {
    AnyMap all;
    for (const auto& choice : choices_) {
      const auto now = choice->current();
      all[now->device] = readable_properties(now->model);
    }
    return Any(all);
  });
}

std::vector<std::string> AutoModel::execution() const {
  std::vector<std::string> names;
  for (const auto& choice : choices_) {
    const std::string& device = choice->current()->device;
    // The helper's name is in brackets while it stands in. Several choices are on one device after another failed.
    const std::string name = choice->is_waiting() ? "(" + device + ")" : device;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::unique_ptr<InferRequestImpl> AutoModel::create_request() {
  std::size_t index = 0;
  if (choices_.size() > 1) {
    const std::size_t turn = next_.fetch_add(1);
    if (choices_.front()->config().takes_turns()) {
      index = turn % choices_.size();
    } else {
      // Each device gets its optimal number of requests before the next one gets any.
      std::vector<std::size_t> capacity;
      std::size_t sum = 0;
      for (const auto& choice : choices_)
        capacity.push_back(sum +=
                           std::max(1u, choice->current()->model.get_property(optimal_number_of_infer_requests)));
      while (capacity[index] <= turn % std::max<std::size_t>(sum, 1)) ++index;
    }
  }
  return std::make_unique<Request>(shared_from_this(), choices_[index]);
}

std::size_t AutoModel::stream_count() const {
  std::size_t count = 0;
  for (const auto& choice : choices_) count += choice->stream_count();
  return std::max<std::size_t>(count, 1);
}

std::optional<Refusal> AutoModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  for (const auto& choice : choices_)
    if (auto refusal = choice->current()->impl->refuses_input(index, tensor)) return refusal;
  return std::nullopt;
}

Requirements AutoModel::requirements() const {
  Requirements wanted = CompiledModelImpl::requirements();
  // Any device may run it: a tensor used on the CPU may later need whole pages.
  wanted.fd = FdKind::kMemfd;
  return wanted;
}

Any AutoModel::get_property(const std::string& name) const {
  if (table_.has(name)) return table_.get(name);
  return choices_.front()->current()->model.get_property(name);
}

void AutoModel::set_property(const AnyMap& properties) {
  for (const auto& choice : choices_) {
    CompiledModel model = choice->current()->model;
    model.set_property(properties);
  }
}
std::shared_ptr<const Model> AutoModel::runtime_model() const {
  const std::lock_guard lock(ran_mutex_);
  return (ran_ ? ran_ : choices_.front()->current())->model.get_runtime_model();
}
void AutoModel::note_ran(const Choice& choice, std::shared_ptr<const Target> target) {
  if (&choice != choices_.front().get()) return;
  const std::lock_guard lock(ran_mutex_);
  ran_ = std::move(target);
}
void AutoModel::export_model(std::ostream&) const {
  throw NotImplemented("AUTO does not export: export the model from the device that EXECUTION_DEVICES names");
}

}  // namespace tenon::inline v1::auto_device
