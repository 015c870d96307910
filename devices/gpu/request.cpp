// SPDX-License-Identifier: Apache-2.0
// A request on the GPU: bindings, and inferences that are enqueued whole.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/compiled_model.hpp>
#include <tenon/devices/gpu/completion.hpp>
#include <tenon/devices/gpu/states.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

EdgeId gather_edge() {
  static const EdgeId edge = register_edge("GPU: gather");
  return edge;
}
EdgeId upload_edge() {
  static const EdgeId edge = register_edge("GPU: upload");
  return edge;
}
EdgeId counted_edge() {
  static const EdgeId edge = register_edge("GPU: results that values decide");
  return edge;
}
EdgeId image_edge() {
  static const EdgeId edge = register_edge("GPU: to image");
  return edge;
}
EdgeId download_edge() {
  static const EdgeId edge = register_edge("GPU: download");
  return edge;
}

/// Of a picture's planes [n, rows, columns, samples], or without the first axis.
std::size_t rows_of(const Shape& shape) {
  const std::size_t rank = shape.size();
  return rank < 3 ? 1 : shape[rank - 3] * (rank > 3 ? shape[rank - 4] : 1);
}

/// Of a CPU that worked for this thread: on a busy machine, other times say little.
std::chrono::nanoseconds time_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Each has a plan of its own, and so has each iteration of a loop that its body ends.
constexpr std::size_t kMostStages = 1024;

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
      const Config& config = owner_->config();
      queue_ = make_queue(gpu, config.profiling, config.queue_priority, config.queue_throttle);
      has_times_ = owner_->config().profiling;
    }
    for (const PlanVariable& variable : owner_->variables())
      states_.push_back(std::make_shared<State>(owner_->gpu(), variable));
    if (owner_->static_stage()) use(0, owner_->static_stage());
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    Bound& input = inputs_.at(index);
    input.items.clear();
    place(input, tensor, Access::kRead, owner_->takes_pitch(index));
    bind_input(index);
  }
  void bind_batch(std::size_t index, std::span<const Tensor> items) override {
    auto found = locate_batch(*owner_->gpu(), items);
    if (auto* refusal = std::get_if<Refusal>(&found)) throw Error(Code::kFailedPrecondition, "GPU: " + refusal->reason);
    Bound& input = inputs_.at(index);
    input.tensor = input.mapped = Tensor();
    input.is_moved = false;
    input.items = std::move(std::get<std::vector<Location>>(found));
    input.form = input.items.front().form;
    input.form.items = input.items.size();
    input.batch_shape = items.front().shape();
    input.batch_shape[0] = items.size();
    bind_input(index);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    place(outputs_.at(index), tensor, Access::kWrite);
    if (!owner_->open() && tensor) parts_[0].execution->bind_output(index, outputs_[index].memory);
  }

  bool is_asynchronous() const noexcept override { return true; }
  /// infer() waits in the caller's thread, which is sooner than by the thread that ends inferences.
  bool runs_in_caller() const noexcept override { return true; }
  bool wait_for(const TimelinePoint& point) override {
    // What decides shapes is read by the host, which waits itself.
    if (owner_->open()) return false;
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
    if (profiles()) note_times();
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
    Tensor tensor;                     ///< As it was given. Empty: a batch.
    Tensor mapped;                     ///< Keeps what `memory` is in, where that is not the tensor itself.
    bool is_moved = false;             ///< The tensor is host memory, `memory` is `staging`.
    std::optional<ImageTarget> image;  ///< Of an output: the tensor lies there, `memory` is `staging`.
    client::Handle<cl_mem> staging;    ///< Of one that is moved, or put into an image.
    std::size_t staging_bytes = 0;
    BoundMemory memory;
    InputForm form;
    std::vector<Location> items;  ///< Of a batch in several tensors.
    Shape batch_shape;

    bool is_bound() const { return tensor || !items.empty(); }
  };

  /// Where the input lies, for the kernels of a model whose shapes are known; or a plan for another form is due before the
  /// next inference. Stages of an open model are bound at each inference.
  void bind_input(std::size_t index) {
    const Bound& input = inputs_[index];
    if (owner_->open() || !input.is_bound()) return;
    Execution& execution = *parts_[0].execution;
    if (execution.plan().inputs[index].form != input.form) {
      has_other_forms_ = true;
      return;
    }
    if (input.items.empty()) return execution.bind_input(index, 0, input.memory);
    for (std::size_t item = 0; item < input.items.size(); ++item)
      execution.bind_input(index, item, input.items[item].memory);
  }

  void place(Bound& bound, const Tensor& tensor, Access access, bool takes_pitch = false) {
    bound.tensor = tensor;
    if (bound.mapped) bound.mapped = Tensor();
    bound.is_moved = false;
    bound.image.reset();
    if (bound.form != InputForm{}) bound.form = {};
    if (!tensor) return;
    if (const auto memory = plain_memory(*owner_->gpu(), tensor, takes_pitch)) {
      bound.memory = *memory;
      return;
    }
    auto found = locate(*owner_->gpu(), tensor, access, takes_pitch);
    if (auto* refusal = std::get_if<Refusal>(&found)) throw Error(Code::kFailedPrecondition, "GPU: " + refusal->reason);
    auto& location = std::get<Location>(found);
    bound.is_moved = location.is_moved;
    bound.image = location.image;
    if (!location.is_moved && !location.image) {
      if (location.mapped) bound.mapped = std::move(location.mapped);
      bound.memory = location.memory;
      bound.form = std::move(location.form);
      return;
    }
    const std::size_t bytes = std::max<std::size_t>(tensor.size_bytes(), 1);
    if (bound.staging_bytes < bytes) {
      bound.staging = client::make_buffer(owner_->gpu()->native(), CL_MEM_READ_WRITE, bytes, nullptr,
                                          "a buffer for a tensor in host memory or in an image");
      owner_->gpu()->count_memory(bound.staging.get(), bytes);
      bound.staging_bytes = bytes;
    }
    // Moved rows lie side by side.
    bound.memory = {bound.staging.get(), nullptr, 0,
                    tensor.size_bytes() / std::max<std::size_t>(rows_of(tensor.shape()), 1)};
  }

  /// What runs one stage, and the values that it hands on.
  struct Part {
    std::shared_ptr<const Stage> stage;
    std::unique_ptr<Execution> execution;
    std::vector<Tensor> made;  ///< Of the plan's outputs that are not bound to the request's; empty for those that are.
    std::vector<std::int32_t> counts;  ///< Of the same.
    std::vector<client::Handle<cl_event>> events;
    const Plan& plan() const { return *stage->plan; }
    Shape shape_of(std::size_t output) const {
      const PlanPort& port = plan().outputs[output];
      return port.shape_of(port.count ? static_cast<std::size_t>(counts[*port.count]) : 0);
    }
    /// As it lies there, with the extents that it has got.
    Tensor value(std::size_t output) const {
      return Tensor(TensorInfo{plan().outputs[output].type, shape_of(output), {}}, made[output].memory(),
                    made[output].offset());
    }
  };
  /// What a stage reads.
  struct Value {
    InputState state;
    std::vector<BoundMemory> memory;  ///< Of each item of a batch in several tensors, else one.
  };
  static Value value_of(const Bound& input) {
    Value value{{input.tensor, input.tensor ? input.tensor.shape() : input.batch_shape, input.form}, {}};
    for (const Location& item : input.items) value.memory.push_back(item.memory);
    if (input.items.empty()) value.memory.push_back(input.memory);
    return value;
  }

  /// @return the event of the last command.
  Ref<opencl::EventTimeline> enqueue_all(Inference& inference) {
    wait_list_.clear();
    for (const auto& event : waits_) wait_list_.push_back(event.get());
    try {
      if (has_other_forms_) use_forms_of_now(inference);
      if (!wait_list_.empty()) barrier(wait_list_);
      for (const Bound& input : inputs_) move_in(input, inference.ledger());
      if (owner_->open())
        enqueue_stages(inference);
      else
        enqueue(parts_[0], inference);
      for (const Part& part : std::span(parts_).first(used_))
        for (const PlanVariable& variable : part.plan().variables)
          if (variable.is_assigned) state_of(variable).advance(queue_.get());
      for (const Bound& output : outputs_) {
        move_out(output, inference.ledger());
        put_into_image(output, inference);
      }
      waits_.clear();
      return opencl::EventTimeline::over(client::marker(queue_.get()));
    } catch (...) {
      waits_.clear();
      let_run_out();
      throw;
    }
  }
  void enqueue(Part& part, Inference& inference) {
    const std::size_t gathered = part.plan().gathered_bytes;
    if (gathered && inference.policy() == ZeroCopy::kRequire)
      throw Error(Code::kFailedPrecondition,
                  "GPU: what first reads an input that lies in an image, at a pitch or in several tensors takes packed "
                  "ones only, so " +
                      std::to_string(gathered) +
                      " bytes would be copied, which the zero-copy policy 'require' forbids; give it one packed "
                      "tensor");
    if (gathered) inference.ledger().book_copied(gather_edge(), gathered);
    part.events.clear();
    launch(part);
    if (!is_in_order_) barrier({});
  }
  /// By the way of the model's, or by the one whose turn it is to be tried.
  void launch(Part& part) {
    LaunchTrial& launches = owner_->launches();
    auto* const events = profiles() ? &part.events : nullptr;
    const std::size_t kernels = part.plan().launches.size();
    if (launches.is_over()) {
      const LaunchWay way = launches.way();
      if (way == LaunchWay::kBuffer) part.execution->record(queue_.get());
      return part.execution->enqueue(queue_.get(), is_in_order_, way, events);
    }
    if (kernels < LaunchTrial::kLeastKernels)
      return part.execution->enqueue(queue_.get(), is_in_order_, LaunchWay::kSingly, events);
    LaunchWay way = launches.way();
    const std::chrono::nanoseconds begin = time_of_thread();
    try {
      if (way == LaunchWay::kBuffer) part.execution->record(queue_.get());
    } catch (const Error&) {  // Nobody asked for it.
      launches.drop(way);
      way = LaunchWay::kSingly;
    }
    part.execution->enqueue(queue_.get(), is_in_order_, way, events);
    launches.note(way, kernels, time_of_thread() - begin);
  }

  /// The stages for these inputs one after the other; between them the host waits, and reads what decides the next.
  void enqueue_stages(Inference& inference) {
    std::vector<Value> inputs;
    for (const Bound& input : inputs_) inputs.push_back(value_of(input));
    std::vector<std::size_t> wanted(outputs_.size());
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    OpenModel* open = owner_->open();
    for (std::size_t depth = 0; open; ++depth) {
      if (depth == kMostStages)
        throw Error(
            Code::kResourceExhausted,
            "GPU: values decided " + std::to_string(kMostStages) +
                " times what comes next, and still do: a loop whose body does not end it? HETERO:GPU,CPU runs it "
                "on the CPU");
      inference.throw_if_cancelled();
      std::vector<InputState> states;
      for (const Value& input : inputs) states.push_back(input.state);
      Part& part = use(depth, wanted_by(inference, [&] { return open->stage_for(states); }));
      for (std::size_t i = 0; i < inputs.size(); ++i)
        for (std::size_t item = 0; item < inputs[i].memory.size(); ++item)
          part.execution->bind_input(i, item, inputs[i].memory[item]);
      bind_outputs(part, wanted, inference);
      enqueue(part, inference);
      used_ = depth + 1;
      open = part.stage->rest.get();
      const bool has_counts = part.plan().outputs.size() > part.plan().model->get_results().size();
      if (!open && !has_counts) return;
      read_counts(part, inference);
      put_out_counted(part, wanted, inference);
      std::vector<Value> handed;
      for (const auto& source : part.stage->rest_inputs)
        handed.push_back(source.kind == Stage::Source::Kind::kInput ? inputs[source.index]
                                                                    : value_of(part, source.index));
      inputs = std::move(handed);
      std::vector<std::size_t> left;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (part.stage->results[i].kind == Stage::Source::Kind::kRest) left.push_back(wanted[i]);
      wanted = std::move(left);
    }
  }

  static Value value_of(const Part& part, std::size_t output) {
    Tensor tensor = part.value(output);
    const BoundMemory memory{opencl::buffer(tensor), nullptr, tensor.offset()};
    return {{tensor, tensor.shape(), {}}, {memory}};
  }

  /// The request's tensors for results whose shape is known, memory of the part's for all else.
  /// @param wanted  Which results of the model those of the stage are.
  void bind_outputs(Part& part, const std::vector<std::size_t>& wanted, Inference& inference) {
    const auto& ports = part.plan().outputs;
    std::vector<bool> is_bound(ports.size(), false);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& source = part.stage->results[i];
      if (source.kind != Stage::Source::Kind::kOutput || ports[source.index].count) continue;
      place_output(wanted[i], ports[source.index].shape, inference);
      part.execution->bind_output(source.index, outputs_[wanted[i]].memory);
      is_bound[source.index] = true;
    }
    bind_made(part, is_bound);
  }
  /// Memory of the part's for outputs of its plan that have no other.
  void bind_made(Part& part, const std::vector<bool>& is_bound) {
    const auto& ports = part.plan().outputs;
    part.made.resize(ports.size());
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (is_bound[i]) continue;
      if (!part.made[i]) part.made[i] = device_tensor(*owner_->gpu(), ports[i].type, ports[i].shape);
      part.execution->bind_output(i, {opencl::buffer(part.made[i]), nullptr, part.made[i].offset()});
    }
  }
  void place_output(std::size_t index, const Shape& shape, Inference& inference) {
    if (owner_->ports().outputs[index].get_partial_shape().is_dynamic())
      place(outputs_[index], inference.output(index, shape), Access::kWrite);
  }

  /// Waits for all that has been enqueued.
  void read_counts(Part& part, Inference& inference) const {
    const auto& ports = part.plan().outputs;
    part.counts.assign(ports.size(), 0);
    for (std::size_t i = part.plan().model->get_results().size(); i < ports.size(); ++i)
      read(part.made[i], &part.counts[i], sizeof part.counts[i], "reading how much a node put out");
    try {
      TimelinePoint(opencl::EventTimeline::over(client::marker(queue_.get())), 1)
          .wait(Deadline::max(), &inference.ledger());
    } catch (const Error&) {
      std::rethrow_exception(failure(std::current_exception()));
    }
  }
  /// Enqueues the read of a part's memory into the host's, or where the host's addresses are the device's.
  void read(const Tensor& from, void* to, std::size_t bytes, const char* what) const {
    client::check(
        client::call(clEnqueueReadBuffer, queue_.get(), opencl::buffer(from), cl_bool{CL_FALSE}, from.offset(), bytes,
                     to, cl_uint{0}, static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
        "clEnqueueReadBuffer", what);
  }

  /// Results that values decide lie in memory for the largest: what there is of them is copied.
  void put_out_counted(const Part& part, const std::vector<std::size_t>& wanted, Inference& inference) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& source = part.stage->results[i];
      if (source.kind != Stage::Source::Kind::kOutput || !part.plan().outputs[source.index].count) continue;
      place_output(wanted[i], part.shape_of(source.index), inference);
      const BoundMemory& to = outputs_[wanted[i]].memory;
      const Tensor from = part.value(source.index);
      const std::size_t bytes = from.size_bytes();
      if (bytes == 0) continue;
      const char* const what = "putting out a result that values decide";
      if (to.buffer)
        client::check(
            client::call(clEnqueueCopyBuffer, queue_.get(), opencl::buffer(from), to.buffer, from.offset(), to.offset,
                         bytes, cl_uint{0}, static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
            "clEnqueueCopyBuffer", what);
      else
        read(from, to.pointer + to.offset, bytes, what);
      if (!is_in_order_) barrier({});
      inference.ledger().book_copied(counted_edge(), bytes);
    }
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
    if (!bound.is_moved || !bound.tensor || bound.tensor.size_bytes() == 0) return;
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
      const std::size_t origin[3] = {0, 0, 0}, region[3] = {row, rows_of(bound.tensor.shape()), 1};
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
    if (!bound.is_moved || !bound.tensor || bound.tensor.size_bytes() == 0) return;
    Tensor target = bound.tensor;
    client::check(client::call(clEnqueueReadBuffer, queue_.get(), bound.memory.buffer, cl_bool{CL_FALSE},
                               std::size_t{0}, target.size_bytes(), static_cast<void*>(target.data()), cl_uint{0},
                               static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
                  "clEnqueueReadBuffer", "moving an output from the device");
    ledger.book_transferred(download_edge(), target.size_bytes());
  }

  /// Kernels write buffers: the device copies the bytes into the image.
  void put_into_image(const Bound& bound, Inference& inference) const {
    if (!bound.image || !bound.tensor || bound.tensor.size_bytes() == 0) return;
    if (inference.policy() == ZeroCopy::kRequire)
      throw Error(Code::kFailedPrecondition, "GPU: " + to_string(bound.tensor) + " is an image, into which " +
                                                 std::to_string(bound.tensor.size_bytes()) +
                                                 " bytes would be copied, which the zero-copy policy 'require' "
                                                 "forbids; give the output a buffer");
    client::check(client::call(clEnqueueCopyBufferToImage, queue_.get(), bound.memory.buffer, bound.image->image,
                               std::size_t{0}, bound.image->origin.data(), bound.image->size.data(), cl_uint{0},
                               static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
                  "clEnqueueCopyBufferToImage", "putting an output into an image");
    inference.ledger().book_copied(image_edge(), bound.tensor.size_bytes());
  }

  /// What `find` finds or compiles, which ends early if the inference is cancelled.
  template <typename Find>
  static std::shared_ptr<const Stage> wanted_by(Inference& inference, const Find& find) {
    const WantedScope scope([&inference] { return !inference.cancelled(); });
    try {
      return find();
    } catch (const Error&) {
      inference.throw_if_cancelled();
      throw;
    }
  }

  /// Parts of a model that is cut share them. @errors kFailedPrecondition: it has another shape.
  State& state_of(const PlanVariable& variable) {
    const auto known = std::ranges::find_if(states_, [&](const auto& state) { return state->name() == variable.id; });
    if (known == states_.end()) return *states_.emplace_back(std::make_shared<State>(owner_->gpu(), variable));
    if ((*known)->variable().shape != variable.shape)
      throw Error(Code::kFailedPrecondition, "GPU: with inputs of these shapes the state '" + variable.id +
                                                 "' would be " + to_string(variable.shape) + ", and the request's is " +
                                                 to_string((*known)->variable().shape) +
                                                 ": take another request for inputs of other shapes");
    return **known;
  }

  /// Makes ready what runs a stage, unless it ran last there.
  Part& use(std::size_t depth, std::shared_ptr<const Stage> stage) {
    if (parts_.size() <= depth) parts_.resize(depth + 1);
    Part& part = parts_[depth];
    if (part.stage == stage) return part;
    Part made;
    made.execution = std::make_unique<Execution>(owner_->gpu(), stage->plan);
    made.stage = std::move(stage);
    part = std::move(made);
    const auto& variables = part.plan().variables;
    for (std::size_t i = 0; i < variables.size(); ++i) state_of(variables[i]).bind(*part.execution, i);
    // Stages of an open model are bound at each inference.
    if (owner_->open()) return part;
    for (std::size_t i = 0; i < inputs_.size(); ++i) bind_input(i);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].tensor) part.execution->bind_output(i, outputs_[i].memory);
    std::vector<bool> is_bound(part.plan().outputs.size(), false);
    std::fill_n(is_bound.begin(), outputs_.size(), true);
    bind_made(part, is_bound);
    return part;
  }

  void use_forms_of_now(Inference& inference) {
    std::vector<InputForm> forms;
    for (const Bound& input : inputs_) forms.push_back(input.form);
    use(0, wanted_by(inference, [&] { return owner_->stage_for(forms); }));
    has_other_forms_ = false;
  }

  bool profiles() const { return owner_->config().profiling && has_times_; }
  static std::vector<std::chrono::nanoseconds> times_of(const Part& part) {
    std::vector<std::chrono::nanoseconds> all;
    for (const auto& event : part.events) all.push_back(duration_of(event.get()));
    return all;
  }
  /// Of the inference that ended.
  void note_times() const {
    std::vector<std::shared_ptr<const Stage>> stages;
    StageTimes times;
    for (const Part& part : std::span(parts_).first(used_)) {
      stages.push_back(part.stage);
      times.push_back(times_of(part));
    }
    owner_->note_times(std::move(stages), std::move(times));
  }
  void ended(std::exception_ptr error) noexcept override {
    try {
      if (!error && profiles()) note_times();
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
  bool has_other_forms_ = false;  ///< Some input lies otherwise than the plan's kernels read it.
  std::vector<Bound> inputs_, outputs_;
  std::vector<std::shared_ptr<State>> states_;
  std::vector<Part> parts_;  ///< Of the stages that ran last.
  std::size_t used_ = 1;     ///< How many of them the last inference had.
  std::vector<client::Handle<cl_event>> waits_;
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
  using std::chrono::microseconds;
  using std::chrono::round;
  std::vector<ProfilingInfo> infos;
  const auto add = [&](const std::string& name, const std::string& type) -> ProfilingInfo& {
    ProfilingInfo& info = infos.emplace_back();
    info.node_name = name;
    info.node_type = type;
    info.status = ProfilingInfo::Status::OPTIMIZED_OUT;
    return info;
  };
  std::optional<std::chrono::nanoseconds> begin;
  for (const Part& part : std::span(parts_).first(used_)) {
    const auto durations = times_of(part);
    for (std::size_t i = 0; i < part.events.size(); ++i) {
      const Launch& launch = part.plan().launches[i];
      const auto start = time_of(part.events[i].get(), CL_PROFILING_COMMAND_START);
      if (!begin) begin = start;
      ProfilingInfo& info = add(launch.node_name, launch.node_type);
      info.status = ProfilingInfo::Status::EXECUTED;
      info.exec_type = launch.kernel->kind;
      info.start_time = round<microseconds>(start - *begin);
      info.real_time = info.cpu_time = round<microseconds>(durations[i]);
      for (const auto& [name, type] : launch.fused) add(name, type);
    }
    for (const auto& [name, type] : part.plan().optimized_out) add(name, type);
  }
  return infos;
}

}  // namespace

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner) {
  return std::make_unique<Request>(std::move(owner));
}

}  // namespace tenon::inline v1::gpu_device
