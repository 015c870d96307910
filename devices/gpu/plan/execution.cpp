// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels, and enqueueing them.
#include <tenon/devices/gpu/plan/execution.hpp>

#include <algorithm>
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

Execution::Execution(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const Plan> plan)
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
  if (plan_->counters != engine::kNoBuffer) {
    std::vector<std::byte> zeros(plan_->buffers[plan_->counters].size_bytes);
    counters_ = client::make_buffer(gpu_->native(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, zeros.size(),
                                    zeros.data(), "a buffer of counters");
  }
  steps_.reserve(plan_->launches.size());
  for (std::size_t i = 0; i < plan_->launches.size(); ++i) {
    const Launch& launch = plan_->launches[i];
    Step step{plan_->programs[i]->make(*launch.kernel), i};
    cl_uint at = 0;
    for (const Argument& argument : launch.arguments) {
      const bool is_bound = argument.place && plan_->buffers[argument.place.buffer].kind == engine::BufferKind::kInput;
      if (!argument.place || argument.is_pitch) {
        if (is_bound)
          uses_.push_back({engine::BufferKind::kInput, plan_->buffers[argument.place.buffer].index, step.kernel.get(),
                           at, 0, argument.element_bytes, true, argument.number});
        set_number(step.kernel.get(), at, argument.number);
        ++at;
        continue;
      }
      const engine::Place root = engine::root(plan_->buffers, argument.place);
      const engine::Buffer& buffer = plan_->buffers[root.buffer];
      const auto set = [&](cl_mem memory, std::size_t offset) {
        set_memory(step.kernel.get(), at, memory, offset + root.offset, argument.element_bytes);
      };
      if (root.buffer == plan_->counters)
        set(counters_.get(), 0);
      else if (buffer.kind == engine::BufferKind::kArena)
        set(arena_.get(), buffer.arena_offset);
      else if (buffer.kind == engine::BufferKind::kConstant)
        set(plan_->constants[root.buffer]->buffer.get(), 0);
      else
        uses_.push_back(
            {buffer.kind, buffer.index, step.kernel.get(), at, root.offset, argument.element_bytes, false, 0});
      at += 2;
    }
    steps_.push_back(std::move(step));
  }
}

void Execution::set_number(cl_kernel kernel, cl_uint at, std::int32_t number) {
  client::check(client::call(clSetKernelArg, kernel, at, sizeof number, static_cast<const void*>(&number)),
                "clSetKernelArg", "giving a kernel its numbers");
}

void Execution::set_pointer(cl_kernel kernel, cl_uint at, const std::byte* pointer) const {
  const auto* const set = gpu_->set_usm_argument();
  const auto* const address = static_cast<const void*>(pointer);
  client::check(
      set ? client::call(*set, kernel, at, address) : client::call(clSetKernelArgSVMPointer, kernel, at, address),
      set ? "clSetKernelArgMemPointerINTEL" : "clSetKernelArgSVMPointer", "giving a kernel its memory");
  const cl_ulong none = 0;
  client::check(client::call(clSetKernelArg, kernel, at + 1, sizeof none, static_cast<const void*>(&none)),
                "clSetKernelArg", "giving a kernel its memory");
}

void Execution::set_memory(cl_kernel kernel, cl_uint at, cl_mem buffer, std::size_t offset, std::size_t element_bytes) {
  const cl_ulong elements = offset / element_bytes;
  const char* const what = "giving a kernel its memory";
  client::check(client::call(clSetKernelArg, kernel, at, sizeof buffer, static_cast<const void*>(&buffer)),
                "clSetKernelArg", what);
  client::check(client::call(clSetKernelArg, kernel, at + 1, sizeof elements, static_cast<const void*>(&elements)),
                "clSetKernelArg", what);
}

void Execution::bind(engine::BufferKind kind, std::uint32_t index, BoundMemory memory) {
  for (const Use& use : uses_) {
    if (use.kind != kind || use.index != index) continue;
    if (use.is_pitch)
      set_number(use.kernel, use.at,
                 memory.pitch ? static_cast<std::int32_t>(memory.pitch / use.element_bytes) : use.number);
    else if (memory.pointer)
      set_pointer(use.kernel, use.at, memory.pointer + memory.offset + use.offset);
    else
      set_memory(use.kernel, use.at, memory.buffer, memory.offset + use.offset, use.element_bytes);
  }
}

void Execution::bind_input(std::size_t index, std::size_t item, BoundMemory memory) {
  bind(engine::BufferKind::kInput, plan_->input_index(index, item), memory);
}
void Execution::bind_output(std::size_t index, BoundMemory memory) {
  bind(engine::BufferKind::kOutput, static_cast<std::uint32_t>(index), memory);
}
void Execution::bind_state(std::size_t index, bool next, BoundMemory memory) {
  bind(engine::BufferKind::kState, static_cast<std::uint32_t>(2 * index + next), memory);
}

void Execution::enqueue(cl_command_queue queue, bool is_in_order, std::vector<client::Handle<cl_event>>* events) const {
  for (const Step& step : steps_) {
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
}

}  // namespace tenon::inline v1::gpu_device
