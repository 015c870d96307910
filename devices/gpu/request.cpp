// SPDX-License-Identifier: Apache-2.0
// A request on the GPU: bindings, and inferences that are enqueued whole.
#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/compiled_model.hpp>
#include <tenon/devices/gpu/look_ahead.hpp>
#include <tenon/devices/gpu/plan/tried_inference.hpp>
#include <tenon/devices/gpu/request/binding.hpp>
#include <tenon/devices/gpu/request/completion.hpp>
#include <tenon/devices/gpu/request/queue.hpp>
#include <tenon/devices/gpu/request/states.hpp>
#include <tenon/devices/gpu/request_parts.hpp>
#include <tenon/devices/gpu/request_states.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

EdgeId gather_edge() {
  static const EdgeId edge = register_edge("GPU: gather");
  return edge;
}
EdgeId replay_edge(const Twin& twin) {
  static const EdgeId edge = register_edge("GPU: " + std::string(twin.name()) + " graph");
  return edge;
}
EdgeId refused_edge(const Twin& twin) {
  static const EdgeId edge = register_edge("GPU: " + std::string(twin.name()) + " graph refused");
  return edge;
}
EdgeId counted_edge() {
  static const EdgeId edge = register_edge("GPU: results that values decide");
  return edge;
}

/// Each has a plan of its own, and so has each iteration of a loop that its body ends.
constexpr std::size_t kMostSubgraphs = 1024;

class Request final : public InferRequestImpl, private Completion::Pending {
 public:
  explicit Request(std::shared_ptr<CompiledModel> owner)
      : owner_(std::move(owner)),
        queue_(*owner_->gpu(), owner_->config()),
        tried_(owner_->launches()),
        inputs_(owner_->ports().inputs.size()),
        outputs_(owner_->ports().outputs.size()),
        states_(*owner_),
        kept_(owner_->gpu(), owner_->twin()) {
    if (owner_->static_subgraph()) use(0, owner_->static_subgraph());
  }

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_.at(index).place(*owner_->gpu(), tensor, Access::kRead, owner_->takes_pitch(index));
    bind_input(index);
  }
  void bind_batch(std::size_t index, std::span<const Tensor> items) override {
    inputs_.at(index).place_batch(*owner_->gpu(), items);
    bind_input(index);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_.at(index).place(*owner_->gpu(), tensor, Access::kWrite);
    is_settled_ = false;
    if (!owner_->is_open() && tensor) parts_[0].execution->bind_output(index, outputs_[index].memory);
  }

  bool is_asynchronous() const noexcept override { return true; }
  /// infer() waits in the caller's thread, which is sooner than by the thread that ends inferences.
  bool runs_in_caller() const noexcept override { return true; }
  bool wait_for(const TimelinePoint& point) override {
    // What decides shapes is read by the host, which waits itself.
    if (owner_->is_open()) return false;
    waits_.push_back(point);
    return true;
  }

  void run(Inference& inference) override {
    const Ref<Timeline> end = enqueue_all(inference);
    try {
      const bool blocks = end->query(1) == PointState::kPending;
      const auto begin = Clock::now();
      wait_here(*end);
      if (blocks) inference.ledger().book_wait(host_wait(), Clock::now() - begin);
      if (is_twins_) end_twins();
      tried_.end(std::chrono::steady_clock::now() - begin_);
    } catch (const Error&) {
      const std::exception_ptr error = failure(std::current_exception());
      let_run_out();
      states_.turn();
      std::rethrow_exception(error);
    }
    ran_ = true;
    if (profiles()) note_times();
  }

  void start(Inference& inference) override {
    inference_ = &inference;
    Completion::process().when_over(enqueue_all(inference), *this);
  }

  void end_in_caller() noexcept override { Completion::process().end_here(*this); }

  /// Until the end comes, the next inference is made ready. What is usually over soon is spun for: a nap would end too late.
  void wait_here(const Timeline& end) override {
    const TraceSpan span("wait", "gpu");
    if (is_twins_) {
      using std::chrono::microseconds;
      constexpr microseconds kMostSpun(2000), kPatience(10);
      auto now = Clock::now(), next_look = now;
      const auto end_of_spin = now + (usual_ < kMostSpun ? 2 * usual_ : Clock::duration{});
      bool is_ahead = false;
      while (end.query(1) == PointState::kPending) {
        if (!is_ahead && now >= next_look) {
          is_ahead = look_ahead();
          next_look = Clock::now() + kPatience;
        }
        now = Clock::now();
        if (now >= end_of_spin) break;
        std::this_thread::yield();
      }
    }
    end.wait(1, Deadline::max());
    usual_ = Clock::now() - begin_;
  }

  std::vector<ProfilingInfo> profiling_info() const override;
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override {
    const auto all = states_.all();
    return {all.begin(), all.end()};
  }

 private:
  /// Where the input lies, for the kernels of a model whose shapes are known; or a plan for another form is due before the
  /// next inference. Subgraphs of a deferred model are bound at each inference.
  void bind_input(std::size_t index) {
    const Binding& input = inputs_[index];
    is_settled_ = false;
    if (owner_->is_open() || !input.is_bound()) return;
    Execution& execution = *parts_[0].execution;
    if (execution.plan().inputs[index].form != input.form) {
      has_other_forms_ = true;
      return;
    }
    if (input.items.empty()) return execution.bind_input(index, 0, input.memory);
    for (std::size_t item = 0; item < input.items.size(); ++item)
      execution.bind_input(index, item, input.items[item].memory);
  }

  /// @return the event of the last command.
  Ref<Timeline> enqueue_all(Inference& inference) {
    ran_ = is_twins_ = are_inputs_in_ = false;
    tried_.begin();
    begin_ = std::chrono::steady_clock::now();
    spent_.clear();
    try {
      if (has_other_forms_) use_forms_of_now(inference);
      if (!is_settled_) settle();
      if (owner_->is_open())
        enqueue_subgraphs(inference);
      else
        enqueue(parts_[0], inference);
      for (const Binding& output : outputs_) {
        if (is_twins_)
          output.move_out(*twin_queue_, inference);
        else
          output.move_out(queue_.get(), inference);
      }
      Ref<Timeline> end = is_twins_ ? twin_queue_->end() : Ref<Timeline>();
      if (!end) end = queue_.end();
      states_.turn();
      return end;
    } catch (...) {
      waits_.clear();
      let_run_out();
      throw;
    }
  }
  /// After a bind: outputs over memory that kernels still read, or that another output is written to, are put aside.
  void settle() {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].tensor) settle(i);
    is_settled_ = true;
  }
  void settle(std::size_t index) {
    Binding& output = outputs_[index];
    bool is_shared = false;
    for (std::size_t i = 0; i < inputs_.size() && !is_shared; ++i)
      is_shared = output.overlaps(inputs_[i]) &&
                  (owner_->is_open() || !output.begins_at(inputs_[i]) || !parts_[0].plan().may_share(i, index));
    for (std::size_t i = 0; i < index && !is_shared; ++i)
      is_shared = !outputs_[i].aside && output.overlaps(outputs_[i]);
    if (output.set_aside(*owner_->gpu(), is_shared) && !owner_->is_open())
      parts_[0].execution->bind_output(index, output.memory);
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
    for (std::size_t i = 0; i < part.states.size(); ++i) part.states[i]->bind(*part.execution, i);
    if (wants_twin(part) && replay(part, inference)) return;
    move_in(inference);
    launch(part);
    queue_.keep_order();
  }
  /// The inputs, before the first kernels, and behind what was to be waited for.
  void move_in(Inference& inference) {
    if (are_inputs_in_) return;
    queue_.wait_for(owner_->gpu()->native(), waits_);
    waits_.clear();
    for (const Binding& input : inputs_) input.move_in(queue_.get(), inference.ledger());
    are_inputs_in_ = true;
  }
  /// Whether the twin can run the whole inference, and is to.
  bool wants_twin(const Part& part) const {
    const auto suits = [](const Binding& port) { return port.suits_twin(); };
    return owner_->twin() && owner_->launches().way() == LaunchWay::kGraph && !are_inputs_in_ && !part.subgraph->rest &&
           part.plan().outputs.size() == part.plan().model->get_results().size() && part.execution->has_twin() &&
           std::ranges::all_of(inputs_, suits) && std::ranges::all_of(outputs_, suits);
  }
  /// By the twin. @return false: it refused, and OpenCL is to run the inference and all that follow.
  bool replay(Part& part, Inference& inference) {
    if (Trace::is_open()) Trace::record("find", "gpu", begin_, Clock::now());
    const TraceSpan span("replay", "gpu");
    tried_.before_enqueue();
    for (const TimelinePoint& point : waits_)
      if (point.state() == PointState::kFailed) point.wait();
    try {
      if (!twin_queue_) twin_queue_ = owner_->twin()->make_queue();
      twin_queue_->begin();
      is_twins_ = true;
      for (const TimelinePoint& point : waits_)
        if (!twin_queue_->wait_for(point)) point.wait(default_deadline(), &inference.ledger());
      for (const Binding& input : inputs_) input.move_in(*twin_queue_, inference.ledger());
      const bool is_known = twin_queue_->replay(part.execution->twin_work());
      inference.ledger().book_map(replay_edge(*owner_->twin()), is_known);
    } catch (const Error&) {
      let_run_out();
      is_twins_ = false;
      inference.ledger().book_map(refused_edge(*owner_->twin()), false);
      owner_->launches().drop(LaunchWay::kGraph);
      return false;
    }
    tried_.enqueued(LaunchWay::kGraph, part.plan().launches.size());
    return true;
  }
  /// By the way of the model's, or by the one whose turn it is to be tried.
  void launch(Part& part) {
    LaunchTrial& launches = owner_->launches();
    auto* const events = profiles() ? &part.events : nullptr;
    const std::size_t kernels = part.plan().launches.size();
    if (launches.is_over()) {
      const LaunchWay way = launches.way();
      if (way == LaunchWay::kBuffer) part.execution->record(queue_.get());
      return part.execution->enqueue(queue_.get(), queue_.is_in_order(), way, events);
    }
    // The plan of static shapes is the only one: the twin's turn would not end.
    if (part.execution->refuses_twin() && !owner_->is_open()) launches.drop(LaunchWay::kGraph);
    LaunchWay way = launches.way();  // Once: another request may be the next one whose turn it is.
    // What the twin cannot run counts for no way.
    if (kernels < LaunchTrial::kLeastKernels || way == LaunchWay::kGraph)
      return part.execution->enqueue(queue_.get(), queue_.is_in_order(), LaunchWay::kSingly, events);
    tried_.before_enqueue();
    try {
      if (way == LaunchWay::kBuffer) part.execution->record(queue_.get());
    } catch (const Error&) {  // Recording was only tried; launches one by one still work.
      launches.drop(way);
      way = LaunchWay::kSingly;
    }
    part.execution->enqueue(queue_.get(), queue_.is_in_order(), way, events);
    tried_.enqueued(way, kernels);
  }

  /// The subgraphs for these inputs one after the other; between them the host waits, and reads what decides the next.
  void enqueue_subgraphs(Inference& inference) {
    const TimeLimit time(model_limits().infer_seconds);
    struct LetGo {
      Request& of;
      ~LetGo() {
        of.given_.let_go();
        of.handed_.let_go();
      }
    } const let_go{*this};
    states_.open(*owner_);
    given_.resize(inputs_.size() + states_.inputs().size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) given_.set(i, inputs_[i]);
    ahead_.note(std::span(given_.inputs).first(inputs_.size()));
    for (std::size_t i = 0; i < states_.inputs().size(); ++i)
      given_.set(inputs_.size() + i, states_.inputs()[i]->present());
    wanted_.resize(outputs_.size() + states_.outputs().size());
    std::iota(wanted_.begin(), wanted_.end(), std::size_t{0});
    DeferredModel* open = &states_.model();
    for (std::size_t depth = 0; open; ++depth) {
      if (depth == kMostSubgraphs)
        throw Error(
            Code::kResourceExhausted,
            "GPU: values decided " + std::to_string(kMostSubgraphs) +
                " times what comes next, and still do: a loop whose body does not end it? HETERO:GPU,CPU runs it "
                "on the CPU");
      inference.throw_if_cancelled();
      time.check("an inference of", owner_->name(), limit_property::kInferSeconds);
      Part& part = use(depth, wanted_by(inference, [&] { return open->subgraph_for(given_.inputs); }));
      if (depth == 0) lay_out_states(part.plan());
      given_.bind(*part.execution);
      bind_outputs(part, inference);
      enqueue(part, inference);
      used_ = depth + 1;
      open = part.subgraph->rest.get();
      if (!open && !part.has_counts()) return;
      read_counts(part, inference);
      put_out_counted(part, inference);
      if (open) hand_on(part);
    }
  }

  /// States lie as the plan reads them.
  void lay_out_states(const LaunchPlan& plan) {
    bool has_moved = false;
    for (std::size_t i = 0; i < states_.inputs().size(); ++i) {
      const std::size_t input = inputs_.size() + i;
      if (states_.inputs()[i]->room() == plan.inputs[input].room) continue;
      given_.inputs[input].tensor = Tensor();
      states_.inputs()[i]->lie(plan.inputs[input].room, queue_.get());
      given_.set(input, states_.inputs()[i]->present());
      has_moved = true;
    }
    if (!has_moved) return;
    queue_.keep_order();
    if (owner_->twin()) queue_.finish();  // It knows no queue.
  }

  /// The rest of a model reads what the part was given, and what it computed.
  void hand_on(const Part& part) {
    handed_.resize(part.subgraph->rest_inputs.size());
    for (std::size_t i = 0; i < handed_.inputs.size(); ++i) {
      const auto& source = part.subgraph->rest_inputs[i];
      if (source.kind == PlannedSubgraph::Source::Kind::kInput)
        handed_.set(i, given_, source.index);
      else
        handed_.set(i, part.value(source.index));
    }
    std::swap(given_, handed_);
    std::size_t left = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (part.subgraph->results[i].kind == PlannedSubgraph::Source::Kind::kRest) wanted_[left++] = wanted_[i];
    wanted_.resize(left);
  }

  /// The request's tensors for results whose shape is known, memory of the part's for all else.
  void bind_outputs(Part& part, Inference& inference) {
    const auto& ports = part.plan().outputs;
    is_bound_.assign(ports.size(), false);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto& source = part.subgraph->results[i];
      if (source.kind != PlannedSubgraph::Source::Kind::kOutput || ports[source.index].count) continue;
      part.execution->bind_output(source.index,
                                  place_result(wanted_[i], ports[source.index], ports[source.index].shape, inference));
      is_bound_[source.index] = true;
    }
    bind_made(part);
  }
  /// Memory of the part's for outputs of its plan that have no other.
  void bind_made(Part& part) const {
    const auto& ports = part.plan().outputs;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (is_bound_[i]) continue;
      if (part.made.size() < ports.size()) part.made.resize(ports.size());
      if (!part.made[i]) part.made[i] = device_tensor(*owner_->gpu(), ports[i].type, ports[i].shape);
      part.execution->bind_output(i, {opencl::buffer(part.made[i]), nullptr, part.made[i].offset()});
    }
  }
  /// Where a result of the model goes, or, after the last one, the next value of a state.
  BoundMemory place_result(std::size_t index, const PlanPort& port, const Shape& shape, Inference& inference) {
    if (index >= outputs_.size()) {
      State& state = *states_.outputs()[index - outputs_.size()];
      const Tensor& next = port.is_in_place ? state.grow(shape) : state.next(shape, port.room);
      return {opencl::buffer(next), nullptr, next.offset()};
    }
    if (owner_->ports().outputs[index].get_partial_shape().is_dynamic()) {
      outputs_[index].place(*owner_->gpu(), inference.output(index, shape), Access::kWrite);
      settle(index);
    }
    return outputs_[index].memory;
  }

  /// Waits for all that has been enqueued.
  void read_counts(Part& part, Inference& inference) const {
    const auto& ports = part.plan().outputs;
    part.counts.assign(ports.size(), 0);
    for (std::size_t i = part.plan().model->get_results().size(); i < ports.size(); ++i)
      queue_.read(part.made[i], &part.counts[i], sizeof part.counts[i], "reading how much a node put out");
    try {
      TimelinePoint(queue_.end(), 1).wait(Deadline::max(), &inference.ledger());
    } catch (const Error&) {
      std::rethrow_exception(failure(std::current_exception()));
    }
  }
  /// Results that values decide lie in memory for the largest: what there is of them is copied.
  void put_out_counted(const Part& part, Inference& inference) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto& source = part.subgraph->results[i];
      if (source.kind != PlannedSubgraph::Source::Kind::kOutput || !part.plan().outputs[source.index].count) continue;
      const BoundMemory to =
          place_result(wanted_[i], part.plan().outputs[source.index], part.shape_of(source.index), inference);
      const Tensor from = part.value(source.index);
      const std::size_t bytes = from.size_bytes();
      if (bytes == 0) continue;
      queue_.copy(from, to, bytes, "putting out a result that values decide");
      queue_.keep_order();
      inference.ledger().book_copied(counted_edge(), bytes);
    }
  }

  /// After a failure of a call: what was enqueued still uses the tensors.
  void let_run_out() noexcept {
    try {
      queue_.finish();
      if (is_twins_) twin_queue_->end()->wait(1, default_deadline());
    } catch (const Error&) {  // The failure that led here is the one to tell.
    }
  }

  /// What `find` finds or compiles, which ends early if the inference is cancelled.
  template <typename Find>
  static std::shared_ptr<const PlannedSubgraph> wanted_by(Inference& inference, const Find& find) {
    const CancellationScope scope([&inference] { return !inference.cancelled(); });
    try {
      auto found = find();
      inference.throw_if_cancelled();  // Programs that a driver had begun were built to their end.
      return found;
    } catch (const Error&) {
      inference.throw_if_cancelled();
      throw;
    }
  }

  /// Makes ready what runs a subgraph, unless it ran last there.
  Part& use(std::size_t depth, std::shared_ptr<const PlannedSubgraph> subgraph) {
    const auto has_plan = [&](const Part& part) { return &part.execution->plan() == subgraph->plan.get(); };
    // One that has looked ahead has another plan by now, and takes this one as if it were new: after a failure it is gone.
    if (depth < parts_.size() && parts_[depth].subgraph == subgraph && has_plan(parts_[depth])) return parts_[depth];
    std::uint64_t bytes = subgraph->plan->memory_bytes();
    for (const Part& before : std::span(parts_).first(depth)) bytes += before.plan().memory_bytes();
    if (owner_->is_open()) owner_->check_memory(bytes);
    Part next;
    // A plan of static shapes stays until the next one is ready: what is bound is bound there.
    if (owner_->is_open() && depth < parts_.size()) next.execution = std::move(parts_[depth].execution);
    parts_.resize(depth);  // Another subgraph has others after it.
    if (depth == 0 && keeps_executions())
      next.execution = kept_.change(std::move(next.execution), subgraph->plan, ahead_.goes_on());
    else if (next.execution)
      next.execution->take(subgraph->plan);
    else
      next.execution = std::make_unique<Execution>(owner_->gpu(), subgraph->plan, owner_->twin());
    next.subgraph = std::move(subgraph);
    Part& part = parts_.emplace_back(std::move(next));
    for (const PlanVariable& variable : part.plan().variables) part.states.push_back(states_.find(variable.id));
    // Subgraphs of a deferred model are bound at each inference.
    if (owner_->is_open()) return part;
    for (std::size_t i = 0; i < inputs_.size(); ++i) bind_input(i);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].tensor) part.execution->bind_output(i, outputs_[i].memory);
    is_bound_.assign(part.plan().outputs.size(), false);
    std::fill_n(is_bound_.begin(), outputs_.size(), true);
    bind_made(part);
    return part;
  }

  /// Plans of a decoder come once for each token, and what is told anew is told while the device computes (look_ahead()).
  bool keeps_executions() const { return owner_->is_open() && owner_->twin() && states_.all().empty(); }

  void use_forms_of_now(Inference& inference) {
    std::vector<InputForm> forms;
    for (const Binding& input : inputs_) forms.push_back(input.form);
    use(0, wanted_by(inference, [&] { return owner_->subgraph_for(forms); }));
    has_other_forms_ = is_settled_ = false;
  }

  /// While the twin computes. @return whether no more is to be done for the next inference.
  bool look_ahead() noexcept {
    // Plans take turns in one execution, which can be told the next one.
    const bool takes_turns = kept_.are_none() || ahead_.goes_on();
    if (!owner_->is_open() || used_ != 1 || parts_.empty() || !states_.are_as_opened() || !takes_turns) return true;
    const TraceSpan span("ahead", "gpu");
    try {
      return ahead_.make_ready(states_.model(), {inputs_, outputs_, states_.inputs(), states_.outputs()},
                               *parts_[0].execution, *twin_queue_) != LookAhead::Found::kNotYet;
    } catch (const std::exception&) {  // The next inference does it all itself, and gets the error.
      spent_.swap(parts_);
      used_ = 0;
    }
    return true;
  }

  bool profiles() const { return owner_->config().profiling && queue_.has_times(); }
  /// After the last command of the twin's. @errors those of work for which its queue has waited: the results are undefined then.
  void end_twins() {
    struct Clear {
      std::vector<TimelinePoint>& points;
      ~Clear() { points.clear(); }
    } const clear{waits_};
    for (const TimelinePoint& point : waits_)
      if (point.state() == PointState::kFailed) point.wait();
    twin_queue_->finish();
  }
  /// Notes the times of the inference that ended.
  void note_times() const {
    std::vector<std::shared_ptr<const PlannedSubgraph>> subgraphs;
    SubgraphTimes times;
    for (const Part& part : std::span(parts_).first(used_)) {
      subgraphs.push_back(part.subgraph);
      times.push_back(part.times());
    }
    owner_->note_times(std::move(subgraphs), std::move(times));
  }
  void ended(std::exception_ptr error) noexcept override {
    try {
      if (!error && is_twins_) end_twins();
      if (!error) tried_.end(std::chrono::steady_clock::now() - begin_);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) states_.turn();
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
  RequestQueue queue_;
  bool ran_ = false;
  bool is_settled_ = false;     ///< Outputs are aside that have to be.
  bool is_twins_ = false;       ///< The twin runs the inference.
  bool are_inputs_in_ = false;  ///< OpenCL was told to move the inputs.
  std::unique_ptr<TwinQueue> twin_queue_;
  TriedInference tried_;
  std::chrono::steady_clock::time_point begin_;
  Clock::duration usual_{};       ///< What the inference before took.
  bool has_other_forms_ = false;  ///< Some input lies otherwise than the plan's kernels read it.
  std::vector<Binding> inputs_, outputs_;
  RequestStates states_;
  KeptExecutions kept_;
  std::vector<Part> parts_;  ///< The subgraphs that ran last.
  std::size_t used_ = 1;     ///< How many of them the last inference had.
  LookAhead ahead_;
  std::vector<Part> spent_;  ///< What the twin may still use, and can only be destroyed.
  Given given_, handed_;     ///< What the subgraph reads that is next, and what is handed on to the one after it.
  std::vector<std::size_t> wanted_;   ///< Which results of the model, and then states, those of that subgraph are.
  std::vector<bool> is_bound_;        ///< Outputs of its plan that have memory.
  std::vector<TimelinePoint> waits_;  ///< Before the next inference; the twin's are kept until it is over.
  Inference* inference_ = nullptr;
};

std::vector<ProfilingInfo> Request::profiling_info() const {
  if (!owner_->config().profiling) return InferRequestImpl::profiling_info();
  if (!ran_) throw Error(Code::kFailedPrecondition, "GPU: no inference has finished yet, so there are no times");
  if (!queue_.has_times())
    throw Error(
        Code::kFailedPrecondition,
        "GPU: the application's queue was made without CL_QUEUE_PROFILING_ENABLE, so its commands have no times");
  return profile_of(std::span(parts_).first(used_));
}

}  // namespace

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner) {
  return std::make_unique<Request>(std::move(owner));
}

}  // namespace tenon::inline v1::gpu_device
