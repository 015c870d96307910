// SPDX-License-Identifier: Apache-2.0
// Calls of cl_khr_command_buffer.
#include <tenon/devices/gpu/plan/command_buffer.hpp>

#include <utility>

namespace tenon::inline v1::gpu_device {
namespace {

/// What the driver answers, or `otherwise` where its version of the extension does not know the question.
cl_command_queue_properties ask(const opencl::Device& device, cl_device_info key,
                                cl_command_queue_properties otherwise) {
  cl_command_queue_properties value = 0;
  const cl_int status = client::call(clGetDeviceInfo, device.id, key, sizeof value, static_cast<void*>(&value),
                                     static_cast<std::size_t*>(nullptr));
  return status == CL_SUCCESS ? value : otherwise;
}

}  // namespace

CommandBufferCalls command_buffer_calls(const opencl::Device& device) {
  CommandBufferCalls calls;
  if (!device.has("cl_khr_command_buffer")) return calls;
  client::look_up(calls.make, device, "clCreateCommandBufferKHR");
  client::look_up(calls.record, device, "clCommandNDRangeKernelKHR");
  client::look_up(calls.finalize, device, "clFinalizeCommandBufferKHR");
  client::look_up(calls.release, device, "clReleaseCommandBufferKHR");
  client::look_up(calls.enqueue, device, "clEnqueueCommandBufferKHR");
  constexpr cl_device_info kRequired = 0x12AA;   // CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR
  constexpr cl_device_info kSupported = 0x129A;  // CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR, since 0.9.7
  calls.required = ask(device, kRequired, calls.required);
  calls.supported = ask(device, kSupported, calls.supported) | calls.required;
  return calls;
}

CommandBuffer::CommandBuffer(const CommandBufferCalls& calls, cl_command_queue queue) : calls_(calls) {
  const cl_command_queue queues[] = {queue};
  handle_ = client::create("clCreateCommandBufferKHR", "making a command buffer", calls.make, cl_uint{1},
                           static_cast<const cl_command_queue*>(queues), static_cast<const cl_properties*>(nullptr));
  client::Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

CommandBuffer::CommandBuffer(CommandBuffer&& other) noexcept
    : calls_(other.calls_), handle_(std::exchange(other.handle_, nullptr)) {}

CommandBuffer& CommandBuffer::operator=(CommandBuffer&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(handle_, other.handle_);
  return *this;
}

CommandBuffer::~CommandBuffer() {
  if (!handle_) return;
  calls_.release(handle_);
  client::Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

void CommandBuffer::record(cl_kernel kernel, const Launch& launch) {
  client::check(
      client::call(calls_.record, handle_, static_cast<cl_command_queue>(nullptr),
                   static_cast<const cl_properties*>(nullptr), kernel, cl_uint{launch.dimensions},
                   static_cast<const std::size_t*>(nullptr), launch.global.data(),
                   launch.local[0] ? launch.local.data() : nullptr, cl_uint{0}, static_cast<const cl_uint*>(nullptr),
                   static_cast<cl_uint*>(nullptr), static_cast<void**>(nullptr)),
      "clCommandNDRangeKernelKHR",
      [&] { return "recording " + launch.kernel->kind + " of '" + launch.node_name + "'"; });
}

void CommandBuffer::finish() {
  client::check(client::call(calls_.finalize, handle_), "clFinalizeCommandBufferKHR", "recording kernels");
}

bool CommandBuffer::enqueue() const {
  const cl_int status = client::call(calls_.enqueue, cl_uint{0}, static_cast<cl_command_queue*>(nullptr), handle_,
                                     cl_uint{0}, kNoEvents, kNoEvent);
  if (status == CL_INVALID_OPERATION) return false;
  client::check(status, "clEnqueueCommandBufferKHR", "running recorded kernels");
  return true;
}

}  // namespace tenon::inline v1::gpu_device
