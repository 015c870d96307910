// SPDX-License-Identifier: Apache-2.0
// Inferences on the NPU.
#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/npu/remote.hpp>
#include <tenon/devices/npu/request.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// The ledger's edge for outputs whose shape is known only after computing.
EdgeId output_edge() {
  static const EdgeId edge = register_edge("NPU: output of dynamic shape");
  return edge;
}

EdgeId gather_edge() {
  static const EdgeId edge = register_edge("NPU: gather");
  return edge;
}

class Request final : public InferRequestImpl, public Pending {
 public:
  explicit Request(std::shared_ptr<const CompiledModel> owner)
      : owner_(std::move(owner)),
        queue_number_(owner_->queue_number()),
        commands_(owner_->graph(), owner_->queue(), profiles_layers(*owner_), profiles_inferences(*owner_)),
        inputs_(owner_->inputs().size()),
        counts_(owner_->inputs().size()),
        gathered_(owner_->inputs().size()),
        outputs_(owner_->outputs().size()) {
    const auto& npu = owner_->npu();
    for (const Argument& argument : owner_->graph()->arguments()) {
      if (argument.role != Argument::Role::kShape) continue;
      Tensor extents = allocate_tensor(*npu, ElementType::kI32, argument.shape, argument.is_input);
      std::memset(extents.data(), 0, extents.size_bytes());
      commands_.bind(argument.index, extents, static_cast<std::byte*>(extents.data()), 0, nullptr);
      shapes_.emplace_back(argument.index, std::move(extents));
    }
    for (std::size_t i = 0; i < owner_->info().variables.size(); ++i) {
      states_.push_back(std::make_shared<State>(*owner_, i));
    }
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_[index] = tensor;
    gathered_[index].items.clear();
    counts_[index] = tensor && !tensor.shape().empty() ? tensor.shape()[0] : 0;
    if (tensor) bind(owner_->inputs()[index], tensor, Access::kRead);
    if (tensor) tell_shape(owner_->inputs()[index], tensor.shape());
  }
  void bind_batch(std::size_t index, std::span<const Tensor> items) override {
    auto placed = owner_->place_items(index, items);
    if (auto* refusal = std::get_if<Refusal>(&placed))
      throw Error(Code::kFailedPrecondition, "NPU: " + refusal->reason);
    auto& addresses = std::get<std::vector<std::byte*>>(placed);
    if (owner_->inputs()[index].kind != PortPlan::Kind::kBatch) {
      Shape whole = items.front().shape();
      whole[0] = items.size();
      if (!gathered_[index].whole || gathered_[index].whole.shape() != whole)
        gathered_[index].whole = owner_->allocate_input(index, whole);
      bind_input(index, gathered_[index].whole);
      gathered_[index].items.assign(items.begin(), items.end());
      gathered_[index].addresses = std::move(addresses);
      return;
    }
    inputs_[index] = Tensor();
    counts_[index] = items.size();
    commands_.bind_items(owner_->inputs()[index].argument, items, std::move(addresses));
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    const PortPlan& plan = owner_->outputs()[index];
    outputs_[index].bound = tensor;
    if (tensor && plan.kind != PortPlan::Kind::kBounded && !is_late(plan)) bind(plan, tensor, Access::kWrite);
  }

  void run(Inference& inference) override {
    if (owner_->settings().sequential)
      throw Error(Code::kFailedPrecondition,
                  "Only start async is supported when RUN_INFERENCES_SEQUENTIALLY is enabled!");
    begin(inference);
    commands_.wait(inference);
    end(inference);
  }
  bool runs_in_caller() const noexcept override { return true; }
  bool is_asynchronous() const noexcept override { return true; }
  bool wait_for(const TimelinePoint& point) override {
    // What the host gathers has to be there before.
    const bool gathers =
        std::any_of(gathered_.begin(), gathered_.end(), [](const auto& g) { return !g.items.empty(); });
    return !gathers && commands_.wait_for(point);
  }

  void start(Inference& inference) override {
    if (owner_->settings().streams == 0) {
      begin(inference);
      inference_ = &inference;
      wait();
      report();
      return;
    }
    owner_->completion().reserve();
    try {
      begin(inference);
    } catch (...) {
      owner_->completion().cancel_reserve();
      throw;
    }
    inference_ = &inference;
    owner_->completion().add(*this);
  }

  void cancel() noexcept override { commands_.cancel(); }
  void end_in_caller() noexcept override { owner_->completion().end_here(*this); }

  void wait() noexcept override try {
    commands_.wait(*inference_);
    end(*inference_);
  } catch (...) {
    error_ = std::current_exception();
  }
  void report() noexcept override {
    inference_->finish(std::exchange(error_, nullptr));  // This may be destroyed now.
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!owner_->settings().profiling) return InferRequestImpl::profiling_info();  // Throws.
    if (!ran_)
      throw Error(Code::kFailedPrecondition, "Profiling information isn't available before running an inference!");
    if (profiles_inferences(*owner_)) return {whole_inference()};
    std::vector<ProfilingInfo> infos;
    const auto layers = commands_.layers();
    for (const abi::LayerInfo& layer : layers) infos.push_back(info_of(layer, layers.front().start_time_ns));
    return infos;
  }
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return {states_.begin(), states_.end()}; }

 private:
  /// The items of a batch that the driver's graph takes in one piece.
  struct Gathered {
    std::vector<Tensor> items;  ///< Empty: the input is one tensor.
    std::vector<std::byte*> addresses;
    Tensor whole;
  };
  void gather(Inference& inference) const {
    for (const Gathered& input : gathered_) {
      if (input.items.empty()) continue;
      if (inference.policy() == ZeroCopy::kRequire)
        throw Error(
            Code::kFailedPrecondition,
            "NPU: " + std::to_string(input.items.size()) +
                " tensors of a batch would be copied into one, which "
                "the zero-copy policy 'require' forbids; lay the batch out in one tensor, or compile the model with "
                "NPU_BATCH_MODE PLUGIN");
      auto* to = static_cast<std::byte*>(input.whole.data());
      for (std::size_t i = 0; i < input.items.size(); ++i) {
        std::memcpy(to, input.addresses[i], input.items[i].size_bytes());
        to += input.items[i].size_bytes();
      }
      inference.ledger().book_copied(gather_edge(), input.whole.size_bytes());
    }
  }
  struct OutputSlot {
    Tensor bound;    ///< Bound by the runtime: the user's tensor, or one of static shape.
    Tensor staging;  ///< The device's buffer if it cannot write the user's tensor.
    Tensor target;   ///< This inference's destination of staging.
  };

  static bool profiles_layers(const CompiledModel& owner) {
    return owner.graph()->profiled() ||
           (owner.settings().profiling && owner.settings().profiling_type == ProfilingType::MODEL);
  }
  static bool profiles_inferences(const CompiledModel& owner) {
    return owner.settings().profiling && owner.settings().profiling_type == ProfilingType::INFER;
  }
  /// Whether each inference's inputs determine the shape.
  bool is_late(const PortPlan& plan) const {
    return plan.kind == PortPlan::Kind::kBatch && owner_->info().batch == ModelInfo::kAnyBatch;
  }

  void bind(const PortPlan& plan, const Tensor& tensor, Access access) {
    auto placed = owner_->place(plan, tensor, access);
    if (auto* refusal = std::get_if<Refusal>(&placed))
      throw Error(Code::kFailedPrecondition, "NPU: " + to_string(tensor) + " can't be used: " + refusal->reason);
    bind_at(plan, tensor, std::get<std::byte*>(placed));
  }
  void bind_at(const PortPlan& plan, const Tensor& tensor, std::byte* data) {
    const bool is_batch = plan.kind == PortPlan::Kind::kBatch;
    const bool may_stride = owner_->graph()->arguments()[plan.argument].strides && !tensor.byte_strides().empty() &&
                            tensor.byte_strides().size() <= abi::kMaxArgumentDimensions;
    std::size_t item = 0;
    if (is_batch && tensor.shape()[0] > 0)
      item = tensor.is_contiguous() ? tensor.size_bytes() / tensor.shape()[0]
                                    : static_cast<std::size_t>(tensor.byte_strides()[0]);
    commands_.bind(plan.argument, tensor, data, item, may_stride ? &tensor.byte_strides() : nullptr);
  }

  std::int32_t* extents(std::int64_t argument, std::size_t& rank) {
    for (auto& [index, tensor] : shapes_) {
      if (index != static_cast<std::uint32_t>(argument)) continue;
      rank = tensor.element_count();
      return static_cast<std::int32_t*>(tensor.data());
    }
    throw Error(Code::kInternal, "NPU: a dynamic port without a shape argument");
  }
  void tell_shape(const PortPlan& plan, const Shape& shape) {
    if (plan.shape_argument < 0) return;
    std::size_t rank = 0;
    std::int32_t* at = extents(plan.shape_argument, rank);
    for (std::size_t i = 0; i < std::min(rank, shape.size()); ++i)
      at[i] = static_cast<std::int32_t>(shape[shape.size() - 1 - i]);
  }
  Shape told_shape(const PortPlan& plan) {
    std::size_t rank = 0;
    const std::int32_t* at = extents(plan.shape_argument, rank);
    Shape shape(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) shape[i] = static_cast<std::size_t>(std::max(0, at[rank - 1 - i]));
    return shape;
  }

  /// Number of items in this inference.
  std::size_t items() const {
    const std::uint32_t batch = owner_->info().batch;
    if (batch == 0) return 1;
    if (batch != ModelInfo::kAnyBatch) return batch;
    for (const std::size_t count : counts_)
      if (count != counts_.front()) throw AssertFailure("Batching size is not matching all the tensors.");
    return counts_.front();
  }

  /// Finds memory for outputs whose shape the inputs determine or the device will report.
  void prepare_outputs(Inference& inference, std::size_t count) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const PortPlan& plan = owner_->outputs()[i];
      OutputSlot& slot = outputs_[i];
      slot.target = {};
      if (is_late(plan)) {
        Shape shape = owner_->graph()->arguments()[plan.argument].shape;
        shape[0] = count;
        Tensor target = inference.output(i, shape);
        auto placed = owner_->place(plan, target, Access::kWrite);
        if (const auto* data = std::get_if<std::byte*>(&placed)) {
          bind_at(plan, target, *data);
        } else {
          if (!slot.staging || slot.staging.shape() != shape)
            slot.staging = allocate_tensor(*owner_->npu(), plan.type, shape, false);
          bind(plan, slot.staging, Access::kWrite);
          slot.target = std::move(target);
        }
      } else if (plan.kind == PortPlan::Kind::kBounded) {
        const Argument& argument = owner_->graph()->arguments()[plan.argument];
        if (!slot.staging) slot.staging = allocate_tensor(*owner_->npu(), plan.type, argument.shape, false);
        // The user's own memory, if the largest result fits.
        auto placed =
            slot.bound ? owner_->place(plan, slot.bound, Access::kWrite) : std::variant<std::byte*, Refusal>(Refusal{});
        if (const auto* data = std::get_if<std::byte*>(&placed); data && slot.bound.is_contiguous())
          commands_.bind(plan.argument, slot.bound, *data, 0, nullptr);
        else
          commands_.bind(plan.argument, slot.staging, static_cast<std::byte*>(slot.staging.data()), 0, nullptr);
      }
    }
  }

  /// Computes initial values that depend on inputs on the host, once after a reset, for any driver.
  void initialise_states() {
    if (std::none_of(states_.begin(), states_.end(), [](const auto& state) { return state->is_open(); })) return;
    std::vector<Tensor> inputs;
    for (const Tensor& input : inputs_) {
      std::byte* data = input.is_host_addressable() ? static_cast<std::byte*>(input.data()) : mapped_address(input);
      if (!data)
        throw Error(Code::kFailedPrecondition,
                    "NPU: a state's initial value depends on inputs; the host can't read " + to_string(input));
      inputs.emplace_back(input.element_type(), input.shape(), data, input.byte_strides());
    }
    const Model& initialisers = *owner_->info().initialisers;
    const std::vector<Tensor> values = evaluate(initialisers, inputs);
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const auto& state : states_)
        if (state->is_open() && state->name() == initialisers.get_results()[i]->get_friendly_name())
          state->write(values[i]);
  }

  void begin(Inference& inference) {
    inference.throw_if_cancelled();
    if (const std::uint32_t now = owner_->queue_number(); now != queue_number_) {
      commands_.use(owner_->queue());
      queue_number_ = now;
    }
    const std::size_t count = items();
    prepare_outputs(inference, count);
    gather(inference);
    initialise_states();
    for (const auto& state : states_) state->bind(commands_);
    commands_.wait_for_fences(inference.ledger());
    commands_.submit(count);
  }

  void end(Inference& inference) {
    ran_ = true;
    for (const auto& state : states_) state->check_next();
    for (const auto& state : states_) state->advance();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const PortPlan& plan = owner_->outputs()[i];
      OutputSlot& slot = outputs_[i];
      Tensor made = slot.staging;
      if (plan.kind == PortPlan::Kind::kBounded) {
        const Shape shape = told_shape(plan);
        slot.target = inference.output(i, shape);
        if (commands_.binding(plan.argument).tensor.memory() != slot.staging.memory()) continue;  // Already in place.
        made.set_shape(shape);
      }
      if (!slot.target) continue;
      copy_out(made, slot.target);
      inference.ledger().book_copied(output_edge(), made.size_bytes());
      slot.target = {};
    }
  }
  static void copy_out(const Tensor& made, const Tensor& target) {
    if (made.size_bytes() == 0) return;
    std::byte* to = mapped_address(target);
    if (!to) throw Error(Code::kFailedPrecondition, "NPU: " + to_string(target) + " can't take an output");
    copy_strided(made.element_type(), made.shape(), made.data(), made.byte_strides(), to, target.byte_strides());
  }

  ProfilingInfo whole_inference() const {
    ProfilingInfo info;
    info.status = ProfilingInfo::Status::EXECUTED;
    info.node_name = info.node_type = "NPU";
    info.exec_type = "INFER";
    info.real_time = info.cpu_time = std::chrono::duration_cast<std::chrono::microseconds>(commands_.device_time());
    return info;
  }
  static ProfilingInfo info_of(const abi::LayerInfo& layer, std::uint64_t begin_ns) {
    const auto us = [](std::uint64_t ns) { return std::chrono::microseconds((ns + 500) / 1000); };
    ProfilingInfo info;
    info.status = layer.status == abi::LayerStatus::kExecuted       ? ProfilingInfo::Status::EXECUTED
                  : layer.status == abi::LayerStatus::kOptimizedOut ? ProfilingInfo::Status::OPTIMIZED_OUT
                                                                    : ProfilingInfo::Status::NOT_RUN;
    info.node_name = std::string(layer.name, ::strnlen(layer.name, sizeof layer.name));
    info.node_type = std::string(layer.layer_type, ::strnlen(layer.layer_type, sizeof layer.layer_type));
    info.exec_type = layer.dpu_ns > 0 ? "DPU" : layer.sw_ns > 0 ? "SW" : layer.dma_ns > 0 ? "DMA" : info.node_type;
    info.real_time = us(layer.duration_ns);
    info.cpu_time = us(layer.dpu_ns + layer.sw_ns + layer.dma_ns);
    info.start_time = us(layer.start_time_ns - std::min(begin_ns, layer.start_time_ns));
    return info;
  }

  std::shared_ptr<const CompiledModel> owner_;
  std::uint32_t queue_number_;
  Commands commands_;
  std::vector<Tensor> inputs_;       ///< Empty: several tensors, one for each item of the batch.
  std::vector<std::size_t> counts_;  ///< The extent of each input at axis 0.
  std::vector<Gathered> gathered_;   ///< By input.
  std::vector<OutputSlot> outputs_;
  std::vector<std::pair<std::uint32_t, Tensor>> shapes_;
  std::vector<std::shared_ptr<State>> states_;
  Inference* inference_ = nullptr;
  std::exception_ptr error_;  ///< From wait() to report().
  bool ran_ = false;
};

}  // namespace

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() {
  const auto queue = this->queue();
  if (!queue)
    throw Error(Code::kFailedPrecondition, "NPU: the model was compiled for platform " + info_.platform +
                                               ", the device here is a " + npu()->platform +
                                               ": it can be exported, not run");
  graph_->initialize(queue->get());
  return std::make_unique<Request>(shared_from_this());
}

}  // namespace tenon::inline v1::npu_device
