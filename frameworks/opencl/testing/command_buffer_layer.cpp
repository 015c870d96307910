// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer for tests (OPENCL_LAYERS) that gives a platform cl_khr_command_buffer, as the extension's text has it: kernels are recorded
// with the arguments that they have then, and enqueued one after another. A buffer that is still running is refused (CL_INVALID_OPERATION),
// as is one that is not finished; a queue out of order is no queue for one.
#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

struct _cl_command_buffer_khr {
  struct Command {
    cl_kernel kernel;  // A copy, whose arguments do not change.
    cl_uint dimensions;
    std::array<std::size_t, 3> offset{}, global{}, local{};
    bool has_local;
  };
  std::mutex mutex;
  int references = 1;
  cl_command_queue queue = nullptr;
  std::vector<Command> commands;
  bool is_finished = false;
  cl_event last = nullptr;  // The event of what was enqueued last.
};

namespace {

using layer::answer;
using layer::next;
using layer::table;
using Buffer = _cl_command_buffer_khr*;

constexpr cl_device_info kCapabilities = 0x12A9, kRequired = 0x12AA, kSupported = 0x129A;
constexpr cl_int kInvalidCommandBuffer = -1138, kIncompatibleQueue = -1139;

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info key, size_t size, void* value,
                                   size_t* size_ret) {
  const cl_bitfield none = 0, times = CL_QUEUE_PROFILING_ENABLE;
  if (key == CL_DEVICE_EXTENSIONS)
    return layer::answer_extensions(device, " cl_khr_command_buffer", size, value, size_ret);
  if (key == kCapabilities || key == kRequired) return answer(&none, 1, size, value, size_ret);
  if (key == kSupported) return answer(&times, 1, size, value, size_ret);
  return next->clGetDeviceInfo(device, key, size, value, size_ret);
}

Buffer CL_API_CALL create(cl_uint count, const cl_command_queue* queues, const cl_properties*, cl_int* status) {
  cl_command_queue_properties properties = 0;
  cl_int found = count == 1 && queues ? next->clGetCommandQueueInfo(queues[0], CL_QUEUE_PROPERTIES, sizeof properties,
                                                                    &properties, nullptr)
                                      : CL_INVALID_VALUE;
  if (found == CL_SUCCESS && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)) found = kIncompatibleQueue;
  if (status) *status = found;
  if (found != CL_SUCCESS) return nullptr;
  auto* const made = new _cl_command_buffer_khr;
  made->queue = queues[0];
  next->clRetainCommandQueue(made->queue);
  return made;
}

cl_int CL_API_CALL release(Buffer buffer) {
  if (!buffer) return kInvalidCommandBuffer;
  {
    const std::lock_guard lock(buffer->mutex);
    if (--buffer->references > 0) return CL_SUCCESS;
  }
  for (const auto& command : buffer->commands) next->clReleaseKernel(command.kernel);
  if (buffer->last) next->clReleaseEvent(buffer->last);
  next->clReleaseCommandQueue(buffer->queue);
  delete buffer;
  return CL_SUCCESS;
}

cl_int CL_API_CALL finalize(Buffer buffer) {
  if (!buffer) return kInvalidCommandBuffer;
  const std::lock_guard lock(buffer->mutex);
  if (buffer->is_finished) return CL_INVALID_OPERATION;
  buffer->is_finished = true;
  return CL_SUCCESS;
}

cl_int CL_API_CALL record(Buffer buffer, cl_command_queue queue, const cl_properties*, cl_kernel kernel,
                          cl_uint dimensions, const size_t* offset, const size_t* global, const size_t* local,
                          cl_uint wait_count, const cl_uint*, cl_uint*, void** mutable_handle) {
  if (!buffer) return kInvalidCommandBuffer;
  if (queue || mutable_handle || wait_count || dimensions == 0 || dimensions > 3 || !global) return CL_INVALID_VALUE;
  const std::lock_guard lock(buffer->mutex);
  if (buffer->is_finished) return CL_INVALID_OPERATION;
  cl_int status = CL_SUCCESS;
  _cl_command_buffer_khr::Command command{
      next->clCloneKernel(kernel, &status), dimensions, {}, {}, {}, local != nullptr};
  if (status != CL_SUCCESS) return status;
  std::copy_n(global, dimensions, command.global.begin());
  if (offset) std::copy_n(offset, dimensions, command.offset.begin());
  if (local) std::copy_n(local, dimensions, command.local.begin());
  buffer->commands.push_back(command);
  return CL_SUCCESS;
}

bool is_running(cl_event event) {
  cl_int state = CL_COMPLETE;
  return event &&
         next->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr) == CL_SUCCESS &&
         state > CL_COMPLETE;
}

cl_int CL_API_CALL enqueue(cl_uint count, cl_command_queue* queues, Buffer buffer, cl_uint wait_count,
                           const cl_event* wait, cl_event* event) {
  if (!buffer) return kInvalidCommandBuffer;
  if ((count == 0) != (queues == nullptr) || count > 1) return CL_INVALID_VALUE;
  const std::lock_guard lock(buffer->mutex);
  if (!buffer->is_finished || is_running(buffer->last)) return CL_INVALID_OPERATION;
  if (buffer->last) next->clReleaseEvent(buffer->last);
  buffer->last = nullptr;
  for (const auto& command : buffer->commands) {
    const bool is_first = &command == &buffer->commands.front(), is_last = &command == &buffer->commands.back();
    const cl_int status = next->clEnqueueNDRangeKernel(
        count ? queues[0] : buffer->queue, command.kernel, command.dimensions, command.offset.data(),
        command.global.data(), command.has_local ? command.local.data() : nullptr, is_first ? wait_count : 0,
        is_first ? wait : nullptr, is_last ? &buffer->last : nullptr);
    if (status != CL_SUCCESS) return status;
  }
  if (event) {
    *event = buffer->last;
    if (*event) next->clRetainEvent(*event);
  }
  return CL_SUCCESS;
}

void* CL_API_CALL extension_function(cl_platform_id platform, const char* name) {
  const std::string wanted = name ? name : "";
  if (wanted == "clCreateCommandBufferKHR") return reinterpret_cast<void*>(&create);
  if (wanted == "clReleaseCommandBufferKHR") return reinterpret_cast<void*>(&release);
  if (wanted == "clFinalizeCommandBufferKHR") return reinterpret_cast<void*>(&finalize);
  if (wanted == "clCommandNDRangeKernelKHR") return reinterpret_cast<void*>(&record);
  if (wanted == "clEnqueueCommandBufferKHR") return reinterpret_cast<void*>(&enqueue);
  return next->clGetExtensionFunctionAddressForPlatform(platform, name);
}

}  // namespace

void layer::install() {
  table.clGetDeviceInfo = get_device_info;
  table.clGetExtensionFunctionAddressForPlatform = extension_function;
}
