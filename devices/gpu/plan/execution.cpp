// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels, and enqueueing them.
#include <tenon/devices/gpu/plan/execution.hpp>

#include <algorithm>
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
  const std::size_t size = std::max<std::size_t>(bytes.size_bytes(), 1);
  static char none = 0;
  void* const data = bytes.size_bytes() ? const_cast<void*>(bytes.data()) : &none;
  auto made = std::make_shared<const DeviceBuffer>(DeviceBuffer{
      bytes,
      client::make_buffer(gpu_->native(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size, data, "a buffer of constants"),
      size});
  gpu_->count_memory(made->buffer.get(), size);
  std::erase_if(buffers_, [](const auto& entry) { return entry.second.expired(); });
  buffers_[bytes.data()] = made;
  return made;
}

Execution::Execution(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const LaunchPlan> plan) : gpu_(std::move(gpu)) {
  take(std::move(plan));
}

void Execution::take(std::shared_ptr<const LaunchPlan> plan) {
  runs_.clear();  // What was recorded has the arguments of the plan before.
  uses_.clear();
  plan_ = std::move(plan);
  take_memory();
  take_kernels();
  for (std::size_t i = 0; i < steps_.size(); ++i) take_arguments(i);
  find_runs();
}

namespace {

/// @param zeros  What it begins with; null: anything.
std::shared_ptr<const DeviceBuffer> own_memory(const Gpu& gpu, std::size_t bytes, const void* zeros, const char* what) {
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (zeros ? CL_MEM_COPY_HOST_PTR : 0);
  auto made = std::make_shared<const DeviceBuffer>(
      DeviceBuffer{{}, client::make_buffer(gpu.native(), flags, bytes, const_cast<void*>(zeros), what), bytes});
  gpu.count_memory(made->buffer.get(), bytes);
  return made;
}

}  // namespace

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
    for (Step& step : steps_) step.told.clear();  // Nothing keeps the memory, so that both never exist at a time.
    arena_.reset();
    arena_ = own_memory(*gpu_, std::max(plan_->arena_bytes, room), nullptr, "a buffer for values between kernels");
  }
  if (plan_->counters == planning::kNoBuffer) return;
  const std::size_t bytes = plan_->buffers[plan_->counters].size_bytes;
  if (counters_ && counters_->size_bytes >= bytes) return;
  const std::vector<std::byte> zeros(bytes);
  counters_ = own_memory(*gpu_, bytes, zeros.data(), "a buffer of counters");
}

void Execution::take_kernels() {
  std::vector<Step> before = std::exchange(steps_, {});
  steps_.resize(plan_->launches.size());
  // A step more or less moves all that follow.
  std::multimap<std::string_view, Step*> others;
  const auto is_same = [](const Step& step, const KernelText& text) {
    return step.text.get() == &text || step.text->name == text.name;
  };
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
      steps_[i].kernel = plan_->programs[i]->make(*text);
      steps_[i].text = text;
    }
  }
}

void Execution::take_arguments(std::size_t index) {
  Step& step = steps_[index];
  step.is_own = true;
  cl_uint at = 0;
  for (const Argument& argument : plan_->launches[index]->arguments) {
    if (step.told.size() < at + 2) step.told.resize(at + 2);
    const auto use = [&](const planning::Buffer& buffer, std::size_t offset) {
      uses_.push_back(
          {buffer.kind, buffer.index, index, at, offset, argument.element_bytes, argument.is_pitch, argument.number});
      step.is_own = false;
    };
    if (!argument.place || argument.is_pitch) {
      if (argument.place && plan_->buffers[argument.place.buffer].kind == planning::BufferKind::kInput)
        use(plan_->buffers[argument.place.buffer], 0);
      set_number(step, at++, argument.number);
      continue;
    }
    const planning::BufferSlice root = planning::root(plan_->buffers, argument.place);
    const planning::Buffer& buffer = plan_->buffers[root.buffer];
    const auto set = [&](const Memory& memory, std::size_t offset) {
      set_memory(step, at, memory);
      set_offset(step, at + 1, (offset + root.offset) / argument.element_bytes);
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

void Execution::set_number(Step& step, cl_uint at, std::int32_t number) {
  auto& told = step.told[at].number;
  if (told == static_cast<std::uint64_t>(number)) return;
  told.reset();  // Until the call has succeeded.
  client::check(client::call(clSetKernelArg, step.kernel.get(), at, sizeof number, static_cast<const void*>(&number)),
                "clSetKernelArg", "giving a kernel its numbers");
  told = static_cast<std::uint64_t>(number);
}

void Execution::set_offset(Step& step, cl_uint at, cl_ulong elements) {
  auto& told = step.told[at].number;
  if (told == elements) return;
  told.reset();
  client::check(
      client::call(clSetKernelArg, step.kernel.get(), at, sizeof elements, static_cast<const void*>(&elements)),
      "clSetKernelArg", "giving a kernel its memory");
  told = elements;
}

void Execution::set_memory(Step& step, cl_uint at, const Memory& memory) const {
  if (step.told[at].kept == memory) return;
  set_memory(step, at, memory->buffer.get(), nullptr);
  step.told[at].kept = memory;
}

void Execution::set_memory(Step& step, cl_uint at, cl_mem buffer, const std::byte* pointer) const {
  step.told[at].kept.reset();
  if (!pointer) {
    client::check(client::call(clSetKernelArg, step.kernel.get(), at, sizeof buffer, static_cast<const void*>(&buffer)),
                  "clSetKernelArg", "giving a kernel its memory");
    return;
  }
  const auto* const set = gpu_->set_usm_argument();
  if (!set && gpu_->native().device.usm)
    throw Error(Code::kUnavailable,
                "GPU: " + gpu_->native().device.platform_name +
                    " names cl_intel_unified_shared_memory but has no clSetKernelArgMemPointerINTEL, so kernels take "
                    "no pointers; copy_to() a buffer",
                "clGetExtensionFunctionAddressForPlatform", CL_INVALID_VALUE);
  const auto* const address = static_cast<const void*>(pointer);
  client::check(set ? client::call(*set, step.kernel.get(), at, address)
                    : client::call(clSetKernelArgSVMPointer, step.kernel.get(), at, address),
                set ? "clSetKernelArgMemPointerINTEL" : "clSetKernelArgSVMPointer", "giving a kernel its memory");
}

void Execution::bind(planning::BufferKind kind, std::uint32_t index, BoundMemory memory) {
  for (const Use& use : uses_) {
    if (use.kind != kind || use.index != index) continue;
    Step& step = steps_[use.step];
    if (use.is_pitch) {
      set_number(step, use.at, memory.pitch ? static_cast<std::int32_t>(memory.pitch / use.element_bytes) : use.number);
      continue;
    }
    const std::size_t offset = memory.offset + use.offset;
    set_memory(step, use.at, memory.buffer, memory.pointer ? memory.pointer + offset : nullptr);
    set_offset(step, use.at + 1, memory.pointer ? 0 : offset / use.element_bytes);
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
    client::check(client::call(clEnqueueBarrierWithWaitList, queue, cl_uint{1}, static_cast<const cl_event*>(events),
                               static_cast<cl_event*>(nullptr)),
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
    for (std::size_t i = run.begin; i < run.end; ++i) buffer.record(steps_[i].kernel.get(), *plan_->launches[i]);
    buffer.finish();
    run.buffer = std::move(buffer);
  }
}

void Execution::launch(std::size_t index, cl_command_queue queue, bool is_in_order,
                       std::vector<client::Handle<cl_event>>* events) const {
  const Launch& launch = *plan_->launches[index];
  if (!is_in_order)
    client::check(client::call(clEnqueueBarrierWithWaitList, queue, cl_uint{0}, static_cast<const cl_event*>(nullptr),
                               static_cast<cl_event*>(nullptr)),
                  "clEnqueueBarrierWithWaitList", "ordering kernels");
  cl_event event = nullptr;
  client::check(client::call(clEnqueueNDRangeKernel, queue, steps_[index].kernel.get(), cl_uint{launch.dimensions},
                             static_cast<const std::size_t*>(nullptr), launch.global.data(),
                             launch.local[0] ? launch.local.data() : nullptr, cl_uint{0},
                             static_cast<const cl_event*>(nullptr), events ? &event : nullptr),
                "clEnqueueNDRangeKernel",
                [&] { return "running " + launch.kernel->kind + " of '" + launch.node_name + "'"; });
  if (events) events->emplace_back(event);
}

void Execution::enqueue(cl_command_queue queue, bool is_in_order, LaunchWay way,
                        std::vector<client::Handle<cl_event>>* events) const {
  std::optional<Gate> gate;
  if (way == LaunchWay::kHeld && steps_.size() > 1) gate.emplace(gpu_->native(), queue);
  for (const Run& run : runs_) {
    if (way == LaunchWay::kBuffer && run.buffer && run.buffer.enqueue()) continue;
    for (std::size_t i = run.begin; i < run.end; ++i) launch(i, queue, is_in_order, events);
  }
  if (gate) gate->open();
}

}  // namespace tenon::inline v1::gpu_device
