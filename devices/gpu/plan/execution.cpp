// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels, and enqueueing them.
#include <tenon/devices/gpu/plan/execution.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::gpu_device {

std::shared_ptr<const DeviceBuffer> Constants::buffer(const Tensor& bytes) {
  const std::lock_guard lock(mutex_);
  // Live entries keep their bytes, so an address means the same bytes.
  if (auto known = buffers_[bytes.data()].lock()) return known;
  struct Kept {
    Tensor bytes;
    std::shared_ptr<const DeviceBuffer> buffer;
  };
  const std::size_t size = bytes.size_bytes();
  const auto kept = std::make_shared<const Kept>(
      Kept{bytes, gpu_->make_buffer(size, size ? bytes.data() : nullptr, "a buffer of constants", TwinUse::kConstant)});
  const std::shared_ptr<const DeviceBuffer> made(kept, kept->buffer.get());
  std::erase_if(buffers_, [](const auto& entry) { return entry.second.expired(); });
  buffers_[bytes.data()] = made;
  return made;
}

Execution::Execution(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const LaunchPlan> plan, Twin* twin,
                     const Execution* beside)
    : gpu_(std::move(gpu)), twin_(twin) {
  if (beside) {
    arena_ = beside->arena_;
    counters_ = beside->counters_;
  }
  take(std::move(plan));
}

void Execution::take(std::shared_ptr<const LaunchPlan> plan) {
  if (plan == plan_) return;
  runs_.clear();  // What was recorded has the arguments of the plan before.
  uses_.clear();
  for (auto& of_kind : last_uses_) of_kind.clear();
  plan_ = std::move(plan);
  take_memory();
  take_kernels();
  twin_launches_.resize(twin_ ? steps_.size() : 0);
  twin_version_ = 0;
  has_twins_memory_ = true;
  twins_kernels_ = TwinsKernels::kAwaited;
  for (std::size_t i = 0; i < steps_.size(); ++i) take_arguments(i);
  find_runs();
}

Execution::~Execution() {
  runs_.clear();
  for (Step& step : steps_) give_back(step);
}

/// Without memory: some drivers keep what a kernel was told.
void Execution::give_back(Step& step) noexcept {
  if (!step.kernel || !step.text) return;
  bool is_free = !step.arguments.empty();  // Else it is not known what the kernel was told.
  for (std::size_t at = 0; at < step.arguments.size(); ++at)
    if (step.arguments[at].kind == Wanted::Kind::kMemory && !step.arguments[at].pointer)
      is_free =
          is_free && clSetKernelArg(step.kernel.get(), static_cast<cl_uint>(at), sizeof(cl_mem), nullptr) == CL_SUCCESS;
  if (is_free) plan_->idle_kernels->give_back(*step.text, std::move(step.kernel));
}

void Execution::take_memory() {
  const std::size_t most = gpu_->native().device.max_allocation;
  if (plan_->arena_bytes > most)
    throw Error(Code::kResourceExhausted, "GPU: the model needs " + std::to_string(plan_->arena_bytes) +
                                              " bytes for the values between its kernels; " +
                                              gpu_->native().device.name + " allocates at most " +
                                              std::to_string(most) + " at once");
  const bool is_first = !arena_;
  if (is_first || arena_->size_bytes < plan_->arena_bytes) {
    // Shapes that grow step by step do not get new memory at each step.
    const std::size_t room = is_first ? 1 : std::min(most, arena_->size_bytes + arena_->size_bytes / 4);
    for (Step& step : steps_) step.arguments.clear();  // Nothing keeps the memory, so that both never exist at a time.
    arena_.reset();
    arena_ = gpu_->make_buffer(std::max(plan_->arena_bytes, room), nullptr, "a buffer for values between kernels");
  }
  if (plan_->counters == planning::kNoBuffer) return;
  const std::size_t bytes = plan_->buffers[plan_->counters].size_bytes;
  if (counters_ && counters_->size_bytes >= bytes) return;
  const std::vector<std::byte> zeros(bytes);
  counters_ = gpu_->make_buffer(bytes, zeros.data(), "a buffer of counters");
}

bool Execution::has_memory_for(const LaunchPlan& plan) const noexcept {
  return arena_->size_bytes >= plan.arena_bytes &&
         (plan.counters == planning::kNoBuffer ||
          (counters_ && counters_->size_bytes >= plan.buffers[plan.counters].size_bytes));
}

void Execution::take_kernels() {
  const auto is_same = [](const Step& step, const KernelText& text) {
    return step.text.get() == &text || step.text->name == text.name;
  };
  // Most plans differ from the one before in arguments alone.
  if (std::ranges::equal(steps_, plan_->launches,
                         [&](const Step& step, const auto& launch) { return is_same(step, *launch->kernel); }))
    return;
  std::vector<Step> before = std::exchange(steps_, {});
  steps_.resize(plan_->launches.size());
  // A step more or less moves all that follow.
  std::multimap<std::string_view, Step*> others;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i < steps_.size() && is_same(before[i], *plan_->launches[i]->kernel))
      steps_[i] = std::move(before[i]);
    else
      others.emplace(before[i].text->name, &before[i]);
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kernel) continue;
    const auto& text = plan_->launches[i]->kernel;
    if (const auto other = others.find(text->name); other != others.end()) {
      steps_[i] = std::move(*other->second);
      others.erase(other);
    } else {
      steps_[i].kernel = plan_->idle_kernels->take(*text);
      if (!steps_[i].kernel) steps_[i].kernel = plan_->programs[i]->make(*text);
      steps_[i].text = text;
    }
  }
  for (auto& [name, step] : others) give_back(*step);
}

void Execution::take_arguments(std::size_t index) {
  Step& step = steps_[index];
  step.is_own = true;
  cl_uint at = 0;
  for (const Argument& argument : plan_->launches[index]->arguments) {
    if (step.arguments.size() < at + 2) step.arguments.resize(at + 2);
    const auto use = [&](const planning::Buffer& buffer, std::size_t offset) {
      auto& last = last_uses_[static_cast<std::size_t>(buffer.kind)];
      if (last.size() <= buffer.index) last.resize(buffer.index + 1);
      uses_.push_back({index, at, offset, argument.element_bytes, argument.is_pitch, argument.number, argument.is_pitch,
                       last[buffer.index]});
      last[buffer.index] = static_cast<std::uint32_t>(uses_.size());
      step.is_own = false;
    };
    if (!argument.place || argument.is_pitch) {
      if (argument.place && plan_->buffers[argument.place.buffer].kind == planning::BufferKind::kInput)
        use(plan_->buffers[argument.place.buffer], 0);
      set_number(index, at++, argument.number);
      continue;
    }
    const planning::BufferSlice root = planning::root(plan_->buffers, argument.place);
    const planning::Buffer& buffer = plan_->buffers[root.buffer];
    const auto set = [&](const Memory& memory, std::size_t offset) {
      set_memory(index, at, memory);
      set_offset(index, at + 1, (offset + root.offset) / argument.element_bytes);
    };
    if (root.buffer == plan_->counters)
      set(counters_, 0);
    else if (buffer.kind == planning::BufferKind::kArena)
      set(arena_, buffer.arena_offset);
    else if (buffer.kind == planning::BufferKind::kConstant)
      set(plan_->constants[root.buffer], 0);
    else
      use(buffer, root.offset);
    at += 2;
  }
  if (twin_) twin_launches_[index].arguments.resize(at);
}

void Execution::find_runs() {
  for (std::size_t i = 0; i < steps_.size();) {
    std::size_t end = i;
    while (end < steps_.size() && steps_[end].is_own) ++end;
    const bool is_recordable = end - i >= kLeastRecorded;
    if (!is_recordable) end = std::max(end, i + 1);
    if (!is_recordable && !runs_.empty() && !runs_.back().is_recordable)
      runs_.back().end = end;
    else
      runs_.push_back({i, end, is_recordable, {}});
    i = end;
  }
}

void Execution::take_twin(std::size_t index) {
  Step& step = steps_[index];
  const Launch& launch = of_twin(*plan_->launches[index]);
  if (step.twin_text != launch.kernel) step.function = nullptr;
  step.twin_text = launch.kernel;
  const Program& program = *plan_->twin->all()[index];
  if (!step.function) step.function = program.twin_function(*twin_, *launch.kernel, launch.local_bytes);
  TwinLaunch& twin = twin_launches_[index];
  twin.function = step.function;
  twin.local_bytes = static_cast<std::uint32_t>(launch.local_bytes);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t global = axis < launch.dimensions ? launch.global[axis] : 1;
    std::size_t local = axis < launch.dimensions ? launch.local[axis] : 1;
    // What the driver would choose: the most work-items that share a group without one too many.
    if (local == 0)
      for (local = axis == 0 ? std::min<std::size_t>(global, 128) : 1; global % local != 0;) --local;
    twin.local[axis] = static_cast<std::uint32_t>(local);
    twin.groups[axis] = static_cast<std::uint32_t>(global / local);
    if (axis > 0 && global / local > kMaxTwinGroups) twin.function = nullptr;
  }
}

bool Execution::has_twin() {
  if (!twin_ || !has_twins_memory_) return false;
  if (twins_kernels_ == TwinsKernels::kAwaited && plan_->twin->are_there()) {
    for (std::size_t i = 0; i < steps_.size(); ++i) take_twin(i);
    const auto is_there = [](const TwinLaunch& launch) { return launch.function != nullptr; };
    twins_kernels_ = std::ranges::all_of(twin_launches_, is_there) ? TwinsKernels::kThere : TwinsKernels::kRefused;
  }
  return twins_kernels_ == TwinsKernels::kThere && std::ranges::all_of(uses_, &Use::has_twin);
}

TwinWork Execution::twin_work() {
  static std::atomic<std::uint64_t> versions{0};
  if (twin_version_ == 0) twin_version_ = versions.fetch_add(1, std::memory_order_relaxed) + 1;
  return {twin_launches_, plan_.get(), twin_version_, is_kept_};
}

void Execution::tell_twin(std::size_t step, cl_uint at, std::uint64_t value) {
  if (twin_launches_.empty()) return;
  auto& arguments = twin_launches_[step].arguments;
  if (arguments.size() <= at) arguments.resize(at + 1);
  if (arguments[at] == value) return;
  arguments[at] = value;
  twin_version_ = 0;
}

void Execution::set(std::size_t step, cl_uint at, Wanted wanted) {
  steps_[step].arguments[at] = std::move(wanted);
  steps_[step].is_told = false;
}

void Execution::set_number(std::size_t step, cl_uint at, std::int32_t number) {
  tell_twin(step, at, static_cast<std::uint32_t>(number));
  const Wanted& known = steps_[step].arguments[at];
  const auto value = static_cast<std::uint64_t>(number);
  if (known.kind != Wanted::Kind::kNumber || known.number != value)
    set(step, at, {.kind = Wanted::Kind::kNumber, .number = value});
}

void Execution::set_offset(std::size_t step, cl_uint at, std::uint64_t elements) {
  tell_twin(step, at, elements);
  const Wanted& known = steps_[step].arguments[at];
  if (known.kind != Wanted::Kind::kOffset || known.number != elements)
    set(step, at, {.kind = Wanted::Kind::kOffset, .number = elements});
}

void Execution::set_memory(std::size_t step, cl_uint at, const Memory& memory) {
  has_twins_memory_ = has_twins_memory_ && memory->address != 0;
  tell_twin(step, at, memory->address);
  if (steps_[step].arguments[at].kept != memory)
    set(step, at, {.kind = Wanted::Kind::kMemory, .buffer = memory->buffer.get(), .kept = memory});
}

void Execution::tell(Step& step) const {
  if (step.is_told) return;
  for (cl_uint at = 0; at < step.arguments.size(); ++at) {
    Wanted& wanted = step.arguments[at];
    if (wanted.is_told || wanted.kind == Wanted::Kind::kNone) continue;
    tell(step, at);
    wanted.is_told = true;
  }
  step.is_told = true;
}

void Execution::tell(const Step& step, cl_uint at) const {
  const Wanted& wanted = step.arguments[at];
  const auto tell_value = [&](const auto& value, const char* what) {
    client::check(client::call(clSetKernelArg, step.kernel.get(), at, sizeof value, static_cast<const void*>(&value)),
                  "clSetKernelArg", what);
  };
  const char* const memory = "giving a kernel its memory";
  if (wanted.kind == Wanted::Kind::kNumber)
    return tell_value(static_cast<cl_int>(wanted.number), "giving a kernel its numbers");
  if (wanted.kind == Wanted::Kind::kOffset) return tell_value(cl_ulong{wanted.number}, memory);
  if (!wanted.pointer) return tell_value(wanted.buffer, memory);
  const auto* const usm = gpu_->set_usm_argument();
  if (!usm && gpu_->native().device.usm)
    throw Error(Code::kUnavailable,
                "GPU: " + gpu_->native().device.platform_name +
                    " names cl_intel_unified_shared_memory but has no clSetKernelArgMemPointerINTEL, so kernels take "
                    "no pointers; copy_to() a buffer",
                "clGetExtensionFunctionAddressForPlatform", CL_INVALID_VALUE);
  const auto* const address = static_cast<const void*>(wanted.pointer);
  client::check(usm ? client::call(*usm, step.kernel.get(), at, address)
                    : client::call(client::newer_calls().set_svm_argument, step.kernel.get(), at, address),
                usm ? "clSetKernelArgMemPointerINTEL" : "clSetKernelArgSVMPointer", memory);
}

void Execution::bind(planning::BufferKind kind, std::uint32_t index, BoundMemory memory) {
  const auto& last = last_uses_[static_cast<std::size_t>(kind)];
  if (index >= last.size() || last[index] == 0) return;
  const TwinAddress address = twin_ && memory.buffer ? twin_->address_of(memory.buffer) : 0;
  for (std::uint32_t at = last[index]; at != 0; at = uses_[at - 1].next) {
    Use& use = uses_[at - 1];
    if (use.is_pitch) {
      set_number(use.step, use.at,
                 memory.pitch ? static_cast<std::int32_t>(memory.pitch / use.element_bytes) : use.number);
      continue;
    }
    const std::size_t offset = memory.offset + use.offset;
    use.has_twin = address != 0;
    tell_twin(use.step, use.at, address);
    // Told anew, since another buffer may have got the handle of one that went.
    set(use.step, use.at,
        {.kind = Wanted::Kind::kMemory,
         .buffer = memory.buffer,
         .pointer = memory.pointer ? memory.pointer + offset : nullptr});
    set_offset(use.step, use.at + 1, memory.pointer ? 0 : offset / use.element_bytes);
  }
}

void Execution::bind_input(std::size_t index, std::size_t item, BoundMemory memory) {
  bind(planning::BufferKind::kInput, plan_->input_index(index, item), memory);
}
void Execution::bind_output(std::size_t index, BoundMemory memory) {
  bind(planning::BufferKind::kOutput, static_cast<std::uint32_t>(index), memory);
}
void Execution::bind_state(std::size_t index, bool next, BoundMemory memory) {
  bind(planning::BufferKind::kState, static_cast<std::uint32_t>(2 * index + next), memory);
}

namespace {

/// Keeps a queue from beginning with what is enqueued after it until it is opened, at the latest when it is destroyed:
/// the workers of a CPU's driver would wake for each kernel, and stand in the caller's way.
class Gate {
 public:
  /// @errors those of native calls.
  Gate(const client::Native& native, cl_command_queue queue) : Gate(native) {
    const cl_event events[] = {event_.get()};
    client::check(
        client::call(clEnqueueBarrierWithWaitList, queue, cl_uint{1}, static_cast<const cl_event*>(events), kNoEvent),
        "clEnqueueBarrierWithWaitList", "holding an inference until all of it is enqueued");
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    if (!is_open_) clSetUserEventStatus(event_.get(), CL_COMPLETE);
  }
  void open() {
    client::check(client::call(clSetUserEventStatus, event_.get(), cl_int{CL_COMPLETE}), "clSetUserEventStatus",
                  "letting an inference begin");
    is_open_ = true;
  }

 private:
  /// From here on the destructor sets the event, whatever fails: drivers wait for one that is not set.
  explicit Gate(const client::Native& native)
      : event_(client::create("clCreateUserEvent", "making an event before an inference", clCreateUserEvent,
                              native.context.get())) {}

  client::Handle<cl_event> event_;
  bool is_open_ = false;
};

}  // namespace

void Execution::record(cl_command_queue queue) {
  for (Run& run : runs_) {
    if (!run.is_recordable || run.buffer) continue;
    CommandBuffer buffer(gpu_->command_buffers(), queue);
    for (std::size_t i = run.begin; i < run.end; ++i) {
      tell(steps_[i]);
      buffer.record(steps_[i].kernel.get(), *plan_->launches[i]);
    }
    buffer.finish();
    run.buffer = std::move(buffer);
  }
}

void Execution::launch(std::size_t index, cl_command_queue queue, bool is_in_order,
                       std::vector<client::Handle<cl_event>>* events) {
  const Launch& launch = *plan_->launches[index];
  tell(steps_[index]);
  if (!is_in_order)
    client::check(client::call(clEnqueueBarrierWithWaitList, queue, cl_uint{0}, kNoEvents, kNoEvent),
                  "clEnqueueBarrierWithWaitList", "ordering kernels");
  cl_event event = nullptr;
  client::check(
      client::call(clEnqueueNDRangeKernel, queue, steps_[index].kernel.get(), cl_uint{launch.dimensions},
                   static_cast<const std::size_t*>(nullptr), launch.global.data(),
                   launch.local[0] ? launch.local.data() : nullptr, cl_uint{0}, kNoEvents, events ? &event : nullptr),
      "clEnqueueNDRangeKernel", [&] { return "running " + launch.kernel->kind + " of '" + launch.node_name + "'"; });
  if (events) events->emplace_back(event);
}

void Execution::enqueue(cl_command_queue queue, bool is_in_order, LaunchWay way,
                        std::vector<client::Handle<cl_event>>* events) {
  std::optional<Gate> gate;
  if (way == LaunchWay::kHeld && steps_.size() > 1) gate.emplace(gpu_->native(), queue);
  for (const Run& run : runs_) {
    if (way == LaunchWay::kBuffer && run.buffer && run.buffer.enqueue()) continue;
    for (std::size_t i = run.begin; i < run.end; ++i) launch(i, queue, is_in_order, events);
  }
  if (gate) gate->open();
}

}  // namespace tenon::inline v1::gpu_device
