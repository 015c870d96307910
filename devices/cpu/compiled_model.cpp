// SPDX-License-Identifier: Apache-2.0
// Compiled models and requests of the CPU device.
#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/cpu/compiled_model_internal.hpp>
#include <tenon/graph/evaluate.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

constexpr std::size_t kKeptVariants = 8;

EdgeId pack_edge() {
  static const EdgeId edge = register_edge("CPU: pack");
  return edge;
}

bool is_static(const Model& model) {
  for (const auto& node : model.get_ordered_ops()) {
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      if (node->get_output_partial_shape(i).is_dynamic() || node->get_output_element_type(i).is_dynamic()) return false;
  }
  return true;
}

void check_supported(const Model& model) {
  std::string missing;
  std::size_t count = 0;
  for (const auto& node : model.get_ordered_ops()) {
    if (engine::is_supported(*node)) continue;
    missing += (count++ ? ", " : "") + node->describe();
  }
  if (count) {
    throw Error(Code::kUnimplemented, "CPU: " + std::to_string(count) + " node(s) have no kernel: " + missing +
                                          "; rewrite them with operations of the table (see operations())");
  }
}

class State final : public VariableStateImpl {
 public:
  State(engine::Execution& execution, std::size_t index, std::string name)
      : execution_(execution), index_(index), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Tensor state() const override { return execution_.variable(index_); }
  void set_state(const Tensor& value) override { execution_.set_variable(index_, value); }
  void reset() override { execution_.reset_variable(index_); }

 private:
  engine::Execution& execution_;
  std::size_t index_;
  std::string name_;
};

class Request final : public InferRequestImpl {
 public:
  explicit Request(std::shared_ptr<CompiledModel> owner)
      : owner_(std::move(owner)), inputs_(owner_->ports().inputs.size()), outputs_(owner_->ports().outputs.size()) {
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
    if (!owner_->static_variant()) select(inference);
    if (execution_)
      run_plan(inference);
    else
      interpret(inference);
    ran_ = true;
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!owner_->config().profiling) return InferRequestImpl::profiling_info();
    if (!ran_ || !execution_)
      throw Error(Code::kFailedPrecondition, "CPU: no inference has finished yet, so there are no times");
    using std::chrono::duration_cast;
    using std::chrono::microseconds;
    std::vector<ProfilingInfo> infos;
    const auto steps = variant_->plan->steps();
    const auto& timings = execution_->timings();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ProfilingInfo info;
      info.status = ProfilingInfo::Status::EXECUTED;
      info.start_time = duration_cast<microseconds>(timings[i].start);
      info.real_time = info.cpu_time = duration_cast<microseconds>(timings[i].duration);
      info.node_name = steps[i].node_name;
      info.node_type = steps[i].node_type;
      info.exec_type = steps[i].kernel;
      infos.push_back(std::move(info));
    }
    for (const auto& [name, type] : variant_->plan->optimized_out()) {
      ProfilingInfo info;
      info.status = ProfilingInfo::Status::OPTIMIZED_OUT;
      info.node_name = name;
      info.node_type = type;
      infos.push_back(std::move(info));
    }
    return infos;
  }

  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return states_; }

 private:
  void use(std::shared_ptr<const Variant> variant) {
    variant_ = std::move(variant);
    execution_.reset();
    states_.clear();
    if (!variant_->plan) return;
    execution_ = std::make_unique<engine::Execution>(variant_->plan);
    const auto names = execution_->variables();
    for (std::size_t i = 0; i < names.size(); ++i) states_.push_back(std::make_shared<State>(*execution_, i, names[i]));
  }

  /// For dynamic models: the variant of the bound shapes, with everything bound to it.
  void select(Inference& inference) {
    const bool same =
        variant_ &&
        std::equal(inputs_.begin(), inputs_.end(), variant_->input_shapes.begin(), variant_->input_shapes.end(),
                   [](const Tensor& tensor, const Shape& shape) { return tensor.shape() == shape; });
    if (!same) {
      std::vector<Shape> shapes;
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
    const bool finished = execution_->run(
        owner_->workers(inference.stream()),
        [](void* context) { return static_cast<Inference*>(context)->cancelled(); }, &inference);
    if (const auto bytes = execution_->packed_bytes()) inference.ledger().book_copied(pack_edge(), bytes);
    if (!finished) inference.throw_if_cancelled();
  }

  /// Shapes that depend on values: node by node by the reference kernels.
  void interpret(Inference& inference) {
    const auto results = evaluate(*variant_->interpreted, inputs_, &variables_);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool is_fixed = owner_->ports().outputs[i].get_partial_shape().is_static();
      Tensor target = is_fixed ? outputs_[i] : inference.output(i, results[i].shape());
      results[i].copy_to(target);
      inference.ledger().book_copied(pack_edge(), results[i].size_bytes());
    }
    inference.throw_if_cancelled();
  }

  std::shared_ptr<CompiledModel> owner_;
  std::vector<Tensor> inputs_, outputs_;
  std::shared_ptr<const Variant> variant_;
  std::unique_ptr<engine::Execution> execution_;
  std::vector<std::shared_ptr<VariableStateImpl>> states_;
  VariableMap variables_;
  bool rebind_ = true;
  bool ran_ = false;
};

}  // namespace

CompiledModel::CompiledModel(const std::shared_ptr<const Model>& model, const Config& config)
    : CompiledModelImpl(Ports::of(*model)), config_(config), source_(model), name_(model->get_friendly_name()) {
  start_workers();
  if (is_static(*model)) {
    std::vector<Shape> shapes;
    for (const auto& input : ports().inputs) shapes.push_back(input.get_shape());
    static_variant_ = make_variant(model, std::move(shapes));
  } else {
    check_supported(*model);
    model_ = model->clone();
  }
  declare_properties();
}

CompiledModel::CompiledModel(Blob blob, const Config& config)
    : CompiledModelImpl(Ports::of(*blob.prepared.model)), config_(config), name_(blob.name) {
  start_workers();
  if (blob.kind == Blob::Kind::kWeightless && is_static(*blob.prepared.model)) {
    std::vector<Shape> shapes;
    for (const auto& input : ports().inputs) shapes.push_back(input.get_shape());
    static_variant_ = make_variant(blob.prepared.model, std::move(shapes));
  } else if (blob.kind == Blob::Kind::kPrepared) {
    auto variant = std::make_shared<Variant>();
    for (const auto& input : ports().inputs) variant->input_shapes.push_back(input.get_shape());
    variant->plan = engine::restore_plan(blob.prepared, options());
    static_variant_ = std::move(variant);
  } else {
    model_ = blob.prepared.model;
  }
  declare_properties();
}

void CompiledModel::start_workers() {
  const int streams = std::max(config_.stream_count(), 0);
  for (int i = 0; i <= streams; ++i)
    workers_.push_back(std::make_unique<engine::Workers>(config_.threads_per_stream()));
}

engine::Options CompiledModel::options() const {
  engine::Options options;
  options.threads = config_.threads_per_stream();
  options.profile = config_.profiling;
  return options;
}

void CompiledModel::export_model(std::ostream& stream) const { export_blob(stream, false); }

void CompiledModel::export_blob(std::ostream& stream, bool weightless) const {
  // Whoever wants it so exports while the model that was compiled is still there: the runtime's cache does.
  if (const auto source = source_.lock(); source && weightless) return write_weightless_blob(stream, name_, *source);
  Blob blob;
  blob.name = name_;
  if (static_variant_ && static_variant_->plan) {
    blob.kind = Blob::Kind::kPrepared;
    blob.prepared = engine::prepare_again(*static_variant_->plan);
  } else {
    blob.kind = Blob::Kind::kModel;
    blob.prepared.model = static_variant_ ? static_variant_->interpreted : model_;
  }
  write_blob(stream, blob);
}

void CompiledModel::declare_properties() {
  const int streams = std::max(config_.stream_count(), 0);
  table_.add_constant(model_name, name_);
  table_.add_constant(optimal_number_of_infer_requests, static_cast<std::uint32_t>(std::max(streams, 1)));
  table_.add_constant(num_streams, streams::Num(streams));
  table_.add_constant(inference_num_threads, config_.total_threads());
  table_.add_constant(hint::performance_mode, config_.mode);
  table_.add_constant(hint::num_requests, config_.num_requests);
  table_.add_constant(hint::inference_precision, element::Type(element::f32));
  table_.add_constant(enable_profiling, config_.profiling);
  table_.add_constant(execution_devices, std::vector<std::string>{"CPU"});
}

std::shared_ptr<const Variant> CompiledModel::make_variant(const std::shared_ptr<const Model>& model,
                                                           std::vector<Shape> shapes) const {
  auto variant = std::make_shared<Variant>();
  variant->input_shapes = std::move(shapes);
  if (is_static(*model))
    variant->plan = engine::Plan::compile(model, options());
  else
    variant->interpreted = model;
  return variant;
}

std::shared_ptr<const Variant> CompiledModel::variant_for(const std::vector<Shape>& shapes) {
  const std::lock_guard lock(mutex_);
  for (auto it = recent_.begin(); it != recent_.end(); ++it) {
    if ((*it)->input_shapes != shapes) continue;
    recent_.splice(recent_.begin(), recent_, it);
    return recent_.front();
  }
  const auto reshaped = model_->clone();
  std::map<std::size_t, PartialShape> by_index;
  for (std::size_t i = 0; i < shapes.size(); ++i) by_index[i] = PartialShape(shapes[i]);
  reshaped->reshape(by_index);
  recent_.push_front(make_variant(reshaped, shapes));
  if (recent_.size() > kKeptVariants) recent_.pop_back();
  return recent_.front();
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() {
  return std::make_unique<Request>(shared_from_this());
}

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  // The input stage reads the decoder's rows where they lie; other kernels read packed tensors.
  if (static_variant_ && static_variant_->plan && static_variant_->plan->reads_strided(index) &&
      tensor.is_host_addressable())
    return std::nullopt;
  return CompiledModelImpl::refuses_input(index, tensor);
}

}  // namespace tenon::inline v1::cpu_device
