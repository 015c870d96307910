// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels, and enqueueing them.
#include <tenon/devices/gpu/plan/execution.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::gpu_device {

std::shared_ptr<const ConstantBuffer> Constants::buffer(const Tensor& bytes) {
  const std::lock_guard lock(mutex_);
  // Live entries keep their bytes, so an address means the same bytes.
  if (auto known = buffers_[bytes.data()].lock()) return known;
  const std::size_t size = std::max<std::size_t>(bytes.size_bytes(), 1);
  static char none = 0;
  void* const data = bytes.size_bytes() ? const_cast<void*>(bytes.data()) : &none;
  auto made = std::make_shared<const ConstantBuffer>(
      ConstantBuffer{bytes, client::make_buffer(gpu_->native(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size, data,
                                                "a buffer of constants")});
  gpu_->count_memory(made->buffer.get(), size);
  std::erase_if(buffers_, [](const auto& entry) { return entry.second.expired(); });
  buffers_[bytes.data()] = made;
  return made;
}

Execution::Execution(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const LaunchPlan> plan)
    : gpu_(std::move(gpu)), plan_(std::move(plan)) {
  const std::size_t most = gpu_->native().device.max_allocation;
  if (plan_->arena_bytes > most)
    throw Error(Code::kResourceExhausted, "GPU: the model needs " + std::to_string(plan_->arena_bytes) +
                                              " bytes for the values between its kernels; " +
                                              gpu_->native().device.name + " allocates at most " +
                                              std::to_string(most) + " at once");
  arena_ = client::make_buffer(gpu_->native(), CL_MEM_READ_WRITE, std::max<std::size_t>(plan_->arena_bytes, 1), nullptr,
                               "a buffer for values between kernels");
  gpu_->count_memory(arena_.get(), std::max<std::size_t>(plan_->arena_bytes, 1));
  if (plan_->counters != planning::kNoBuffer) {
    std::vector<std::byte> zeros(plan_->buffers[plan_->counters].size_bytes);
    counters_ = client::make_buffer(gpu_->native(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, zeros.size(),
                                    zeros.data(), "a buffer of counters");
    gpu_->count_memory(counters_.get(), zeros.size());
  }
  steps_.reserve(plan_->launches.size());
  for (std::size_t i = 0; i < plan_->launches.size(); ++i) {
    const Launch& launch = plan_->launches[i];
    Step step{plan_->programs[i]->make(*launch.kernel), i};
    cl_uint at = 0;
    for (const Argument& argument : launch.arguments) {
      const bool is_bound =
          argument.place && plan_->buffers[argument.place.buffer].kind == planning::BufferKind::kInput;
      if (!argument.place || argument.is_pitch) {
        if (is_bound)
          uses_.push_back({planning::BufferKind::kInput, plan_->buffers[argument.place.buffer].index, step.kernel.get(),
                           at, 0, argument.element_bytes, true, argument.number});
        set_number(step.kernel.get(), at, argument.number);
        ++at;
        continue;
      }
      const planning::BufferSlice root = planning::root(plan_->buffers, argument.place);
      const planning::Buffer& buffer = plan_->buffers[root.buffer];
      const auto set = [&](cl_mem memory, std::size_t offset) {
        set_memory(step.kernel.get(), at, memory);
        set_offset(step.kernel.get(), at + 1, (offset + root.offset) / argument.element_bytes);
      };
      if (root.buffer == plan_->counters)
        set(counters_.get(), 0);
      else if (buffer.kind == planning::BufferKind::kArena)
        set(arena_.get(), buffer.arena_offset);
      else if (buffer.kind == planning::BufferKind::kConstant)
        set(plan_->constants[root.buffer]->buffer.get(), 0);
      else
        uses_.push_back(
            {buffer.kind, buffer.index, step.kernel.get(), at, root.offset, argument.element_bytes, false, 0});
      at += 2;
    }
    step.is_own = uses_.empty() || uses_.back().kernel != step.kernel.get();
    steps_.push_back(std::move(step));
  }
  find_runs();
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

void Execution::set_number(cl_kernel kernel, cl_uint at, std::int32_t number) {
  client::check(client::call(clSetKernelArg, kernel, at, sizeof number, static_cast<const void*>(&number)),
                "clSetKernelArg", "giving a kernel its numbers");
}

void Execution::set_pointer(cl_kernel kernel, cl_uint at, const std::byte* pointer) const {
  const auto* const set = gpu_->set_usm_argument();
  if (!set && gpu_->native().device.usm)
    throw Error(Code::kUnavailable,
                "GPU: " + gpu_->native().device.platform_name +
                    " names cl_intel_unified_shared_memory but has no clSetKernelArgMemPointerINTEL, so kernels take "
                    "no pointers; copy_to() a buffer",
                "clGetExtensionFunctionAddressForPlatform", CL_INVALID_VALUE);
  const auto* const address = static_cast<const void*>(pointer);
  client::check(
      set ? client::call(*set, kernel, at, address) : client::call(clSetKernelArgSVMPointer, kernel, at, address),
      set ? "clSetKernelArgMemPointerINTEL" : "clSetKernelArgSVMPointer", "giving a kernel its memory");
}

void Execution::set_memory(cl_kernel kernel, cl_uint at, cl_mem buffer) {
  client::check(client::call(clSetKernelArg, kernel, at, sizeof buffer, static_cast<const void*>(&buffer)),
                "clSetKernelArg", "giving a kernel its memory");
}

void Execution::set_offset(cl_kernel kernel, cl_uint at, cl_ulong elements) {
  client::check(client::call(clSetKernelArg, kernel, at, sizeof elements, static_cast<const void*>(&elements)),
                "clSetKernelArg", "giving a kernel its memory");
}

void Execution::bind(planning::BufferKind kind, std::uint32_t index, BoundMemory memory) {
  for (Use& use : uses_) {
    if (use.kind != kind || use.index != index) continue;
    if (use.is_pitch) {
      set_number(use.kernel, use.at,
                 memory.pitch ? static_cast<std::int32_t>(memory.pitch / use.element_bytes) : use.number);
      continue;
    }
    const std::size_t offset = memory.offset + use.offset;
    if (memory.pointer)
      set_pointer(use.kernel, use.at, memory.pointer + offset);
    else
      set_memory(use.kernel, use.at, memory.buffer);
    const cl_ulong elements = memory.pointer ? 0 : offset / use.element_bytes;
    if (use.elements == elements) continue;
    use.elements.reset();  // Until the call has succeeded.
    set_offset(use.kernel, use.at + 1, elements);
    use.elements = elements;
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
    for (std::size_t i = run.begin; i < run.end; ++i)
      buffer.record(steps_[i].kernel.get(), plan_->launches[steps_[i].launch]);
    buffer.finish();
    run.buffer = std::move(buffer);
  }
}

void Execution::launch(const Step& step, cl_command_queue queue, bool is_in_order,
                       std::vector<client::Handle<cl_event>>* events) const {
  const Launch& launch = plan_->launches[step.launch];
  if (!is_in_order)
    client::check(client::call(clEnqueueBarrierWithWaitList, queue, cl_uint{0}, static_cast<const cl_event*>(nullptr),
                               static_cast<cl_event*>(nullptr)),
                  "clEnqueueBarrierWithWaitList", "ordering kernels");
  cl_event event = nullptr;
  client::check(client::call(clEnqueueNDRangeKernel, queue, step.kernel.get(), cl_uint{launch.dimensions},
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
    for (std::size_t i = run.begin; i < run.end; ++i) launch(steps_[i], queue, is_in_order, events);
  }
  if (gate) gate->open();
}

}  // namespace tenon::inline v1::gpu_device
