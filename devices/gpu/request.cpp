// SPDX-License-Identifier: Apache-2.0
// A request on the GPU: bindings, and inferences that are enqueued whole.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <span>
#include <utility>
#include <variant>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/compiled_model.hpp>
#include <tenon/devices/gpu/completion.hpp>
#include <tenon/devices/gpu/states.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

EdgeId upload_edge() {
  static const EdgeId edge = register_edge("GPU: upload");
  return edge;
}
EdgeId download_edge() {
  static const EdgeId edge = register_edge("GPU: download");
  return edge;
}

class Request final : public InferRequestImpl, private Completion::Pending {
 public:
  explicit Request(std::shared_ptr<CompiledModel> owner)
      : owner_(std::move(owner)), inputs_(owner_->ports().inputs.size()), outputs_(owner_->ports().outputs.size()) {
    const Gpu& gpu = *owner_->gpu();
    if (gpu.shares_queue()) {
      queue_ = client::Handle<cl_command_queue>::retain(gpu.native().queue.get(), "using an application's queue");
      const auto properties = client::info<cl_command_queue_properties>(clGetCommandQueueInfo, "clGetCommandQueueInfo",
                                                                        queue_.get(), CL_QUEUE_PROPERTIES);
      is_in_order_ = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
      has_times_ = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    } else {
      queue_ = client::make_queue(gpu.native(), owner_->config().profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
      has_times_ = owner_->config().profiling;
    }
    if (owner_->static_plan()) use(owner_->static_plan());
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    place(inputs_.at(index), tensor, Access::kRead, owner_->takes_pitch(index));
    if (execution_ && tensor) execution_->bind_input(index, inputs_[index].memory);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    place(outputs_.at(index), tensor, Access::kWrite);
    if (execution_ && tensor) execution_->bind_output(index, outputs_[index].memory);
  }

  bool is_asynchronous() const noexcept override { return true; }
  /// infer() waits in the caller's thread, which is sooner than by the thread that ends inferences.
  bool runs_in_caller() const noexcept override { return true; }
  bool wait_for(const TimelinePoint& point) override {
    // What decides shapes is read by the host, which waits itself.
    if (!owner_->static_plan()) return false;
    waits_.push_back(client::event_for(owner_->gpu()->native(), point));
    return true;
  }

  void run(Inference& inference) override {
    const Ref<opencl::EventTimeline> end = enqueue_all(inference);
    try {
      TimelinePoint(end, 1).wait(Deadline::max(), &inference.ledger());
    } catch (const Error&) {
      std::rethrow_exception(failure(std::current_exception()));
    }
    ran_ = true;
    if (profiles()) owner_->note_times(execution_->plan(), times());
  }

  void start(Inference& inference) override {
    inference_ = &inference;
    Completion::process().when_over(enqueue_all(inference), *this);
  }

  std::vector<ProfilingInfo> profiling_info() const override;
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return {states_.begin(), states_.end()}; }

 private:
  /// A port's tensor, and where the kernels find it.
  struct Bound {
    Tensor tensor;                   ///< As it was given: host memory if it is moved.
    Tensor mapped;                   ///< Keeps what `memory` is in.
    client::Handle<cl_mem> staging;  ///< Of one that is moved.
    std::size_t staging_bytes = 0;
    BoundMemory memory;
  };

  void place(Bound& bound, const Tensor& tensor, Access access, bool takes_pitch = false) {
    bound.tensor = tensor;
    bound.mapped = Tensor();
    if (!tensor) return;
    auto found = locate(*owner_->gpu(), tensor, access, takes_pitch);
    if (auto* refusal = std::get_if<Refusal>(&found)) throw Error(Code::kFailedPrecondition, "GPU: " + refusal->reason);
    auto& location = std::get<Location>(found);
    if (location.mapped) {
      bound.mapped = std::move(location.mapped);
      bound.memory = location.memory;
      return;
    }
    const std::size_t bytes = std::max<std::size_t>(tensor.size_bytes(), 1);
    if (bound.staging_bytes < bytes) {
      bound.staging = client::make_buffer(owner_->gpu()->native(), CL_MEM_READ_WRITE, bytes, nullptr,
                                          "a buffer for a tensor in host memory");
      bound.staging_bytes = bytes;
    }
    // Moved rows lie side by side.
    const std::size_t rows = tensor.shape().size() >= 3 ? tensor.shape()[tensor.shape().size() - 3] : 1;
    bound.memory = {bound.staging.get(), nullptr, 0, tensor.size_bytes() / std::max<std::size_t>(rows, 1)};
  }

  /// @return the event of the last command.
  Ref<opencl::EventTimeline> enqueue_all(Inference& inference) {
    if (!owner_->static_plan()) use_shapes_of_now(inference);
    wait_list_.clear();
    for (const auto& event : waits_) wait_list_.push_back(event.get());
    try {
      enqueue(inference.ledger());
      waits_.clear();
      return opencl::EventTimeline::over(client::marker(queue_.get()));
    } catch (...) {
      waits_.clear();
      let_run_out();
      throw;
    }
  }
  void enqueue(Ledger& ledger) {
    if (!wait_list_.empty()) barrier(wait_list_);
    for (const Bound& input : inputs_) move_in(input, ledger);
    events_.clear();
    execution_->enqueue(queue_.get(), is_in_order_, profiles() ? &events_ : nullptr);
    if (!is_in_order_) barrier({});
    for (const auto& state : states_) state->advance(queue_.get());
    for (const Bound& output : outputs_) move_out(output, ledger);
  }
  /// What is enqueued later waits for these events, or for all that is in the queue if there are none.
  void barrier(std::span<const cl_event> events) const {
    client::check(client::call(clEnqueueBarrierWithWaitList, queue_.get(), static_cast<cl_uint>(events.size()),
                               events.empty() ? nullptr : events.data(), static_cast<cl_event*>(nullptr)),
                  "clEnqueueBarrierWithWaitList", "ordering an inference");
  }
  /// After a failure between commands: what was enqueued still uses the tensors.
  void let_run_out() noexcept {
    try {
      client::finish(client::marker(queue_.get()), default_deadline());
    } catch (const Error&) {  // The failure that led here is the one to tell.
    }
  }

  void move_in(const Bound& bound, Ledger& ledger) const {
    if (bound.mapped || !bound.tensor || bound.tensor.size_bytes() == 0) return;
    const char* const what = "moving an input to the device";
    const auto* const no_events = static_cast<const cl_event*>(nullptr);
    if (bound.tensor.is_contiguous()) {
      client::check(
          client::call(clEnqueueWriteBuffer, queue_.get(), bound.memory.buffer, cl_bool{CL_FALSE}, std::size_t{0},
                       bound.tensor.size_bytes(), static_cast<const void*>(bound.tensor.data()), cl_uint{0}, no_events,
                       static_cast<cl_event*>(nullptr)),
          "clEnqueueWriteBuffer", what);
    } else {  // Rows at a pitch.
      const std::size_t rank = bound.tensor.shape().size(), row = bound.memory.pitch;
      const auto pitch = static_cast<std::size_t>(bound.tensor.byte_strides()[rank - 3]);
      const std::size_t origin[3] = {0, 0, 0}, region[3] = {row, bound.tensor.shape()[rank - 3], 1};
      client::check(client::call(clEnqueueWriteBufferRect, queue_.get(), bound.memory.buffer, cl_bool{CL_FALSE},
                                 static_cast<const std::size_t*>(origin), static_cast<const std::size_t*>(origin),
                                 static_cast<const std::size_t*>(region), row, std::size_t{0}, pitch, std::size_t{0},
                                 static_cast<const void*>(bound.tensor.data()), cl_uint{0}, no_events,
                                 static_cast<cl_event*>(nullptr)),
                    "clEnqueueWriteBufferRect", what);
    }
    ledger.book_transferred(upload_edge(), bound.tensor.size_bytes());
  }
  void move_out(const Bound& bound, Ledger& ledger) const {
    if (bound.mapped || !bound.tensor || bound.tensor.size_bytes() == 0) return;
    Tensor target = bound.tensor;
    client::check(client::call(clEnqueueReadBuffer, queue_.get(), bound.memory.buffer, cl_bool{CL_FALSE},
                               std::size_t{0}, target.size_bytes(), static_cast<void*>(target.data()), cl_uint{0},
                               static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
                  "clEnqueueReadBuffer", "moving an output from the device");
    ledger.book_transferred(download_edge(), target.size_bytes());
  }

  void use(std::shared_ptr<const Plan> plan) {
    execution_ = std::make_unique<Execution>(owner_->gpu(), std::move(plan));
    const auto& variables = execution_->plan().variables;
    if (states_.empty())
      for (const PlanVariable& variable : variables)
        states_.push_back(std::make_shared<State>(owner_->gpu(), variable));
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i]->bind(*execution_, i);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].tensor) execution_->bind_input(i, inputs_[i].memory);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].tensor) execution_->bind_output(i, outputs_[i].memory);
  }

  /// The plan for the inputs' shapes, and outputs of the shapes that come of them.
  void use_shapes_of_now(Inference& inference) {
    std::vector<Tensor> tensors;
    for (const Bound& input : inputs_) tensors.push_back(input.tensor);
    auto plan = owner_->plan_for(tensors);
    if (!execution_ || &execution_->plan() != plan.get()) use(std::move(plan));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (owner_->ports().outputs[i].get_partial_shape().is_static()) continue;
      place(outputs_[i], inference.output(i, execution_->plan().outputs[i].shape), Access::kWrite);
      execution_->bind_output(i, outputs_[i].memory);
    }
  }

  bool profiles() const { return owner_->config().profiling && has_times_; }
  static cl_ulong time_of(const client::Handle<cl_event>& event, cl_profiling_info key) {
    return client::info<cl_ulong>(clGetEventProfilingInfo, "clGetEventProfilingInfo", event.get(), key);
  }
  /// Of the launches of the inference that ended.
  std::vector<std::chrono::nanoseconds> times() const {
    std::vector<std::chrono::nanoseconds> all;
    for (const auto& event : events_)
      all.emplace_back(time_of(event, CL_PROFILING_COMMAND_END) - time_of(event, CL_PROFILING_COMMAND_START));
    return all;
  }
  void ended(std::exception_ptr error) noexcept override {
    try {
      if (!error && profiles()) owner_->note_times(execution_->plan(), times());
    } catch (...) {
      error = std::current_exception();
    }
    ran_ = !error;
    inference_->finish(error ? failure(error) : nullptr);
  }
  /// What an event says of a failed command, as an inference's.
  std::exception_ptr failure(const std::exception_ptr& error) const noexcept {
    try {
      std::rethrow_exception(error);
    } catch (const Error& cause) {
      return std::make_exception_ptr(Error(
          cause.code(), "GPU: an inference on " + owner_->gpu()->native().device.name + " failed: " + cause.what(),
          cause.native_api(), cause.native_code()));
    } catch (...) {
      return error;
    }
  }

  std::shared_ptr<CompiledModel> owner_;
  client::Handle<cl_command_queue> queue_;
  bool is_in_order_ = true, has_times_ = false, ran_ = false;
  std::vector<Bound> inputs_, outputs_;
  std::vector<std::shared_ptr<State>> states_;
  std::unique_ptr<Execution> execution_;
  std::vector<client::Handle<cl_event>> waits_, events_;
  std::vector<cl_event> wait_list_;
  Inference* inference_ = nullptr;
};

std::vector<ProfilingInfo> Request::profiling_info() const {
  if (!owner_->config().profiling) return InferRequestImpl::profiling_info();
  if (!ran_) throw Error(Code::kFailedPrecondition, "GPU: no inference has finished yet, so there are no times");
  if (!has_times_)
    throw Error(
        Code::kFailedPrecondition,
        "GPU: the application's queue was made without CL_QUEUE_PROFILING_ENABLE, so its commands have no times");
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  using std::chrono::nanoseconds;
  const auto durations = times();
  std::vector<ProfilingInfo> infos;
  const auto& plan = execution_->plan();
  const auto add = [&](const std::string& name, const std::string& type) -> ProfilingInfo& {
    ProfilingInfo& info = infos.emplace_back();
    info.node_name = name;
    info.node_type = type;
    info.status = ProfilingInfo::Status::OPTIMIZED_OUT;
    return info;
  };
  const cl_ulong begin = events_.empty() ? 0 : time_of(events_.front(), CL_PROFILING_COMMAND_START);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Launch& launch = plan.launches[i];
    const cl_ulong start = time_of(events_[i], CL_PROFILING_COMMAND_START);
    ProfilingInfo& info = add(launch.node_name, launch.node_type);
    info.status = ProfilingInfo::Status::EXECUTED;
    info.exec_type = launch.kernel->kind;
    info.start_time = duration_cast<microseconds>(nanoseconds(start - begin));
    info.real_time = info.cpu_time = duration_cast<microseconds>(durations[i]);
    for (const auto& [name, type] : launch.fused) add(name, type);
  }
  for (const auto& [name, type] : plan.optimized_out) add(name, type);
  return infos;
}

}  // namespace

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner) {
  return std::make_unique<Request>(std::move(owner));
}

}  // namespace tenon::inline v1::gpu_device
