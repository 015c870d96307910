// SPDX-License-Identifier: Apache-2.0
// Kernels that a driver is given once and enqueues as one command: cl_khr_command_buffer.
#pragma once

#include <cstddef>

#include <tenon/devices/gpu/native.hpp>
#include <tenon/devices/gpu/program/launch.hpp>

namespace tenon::inline v1::gpu_device {

/// Null where the device does not have the extension. Declared here because packaged headers differ.
/// @source the extension's text, versions 0.9.0 to 1.0.0; cl_ext.h
struct CommandBufferCalls {
  using Handle = struct _cl_command_buffer_khr*;
  using Make = Handle(CL_API_CALL*)(cl_uint, const cl_command_queue*, const cl_properties*, cl_int*);
  using Record = cl_int(CL_API_CALL*)(Handle, cl_command_queue, const cl_properties*, cl_kernel, cl_uint,
                                      const std::size_t*, const std::size_t*, const std::size_t*, cl_uint,
                                      const cl_uint*, cl_uint*, void**);
  using Count = cl_int(CL_API_CALL*)(Handle);
  using Enqueue = cl_int(CL_API_CALL*)(cl_uint, cl_command_queue*, Handle, cl_uint, const cl_event*, cl_event*);

  Make make = nullptr;
  Record record = nullptr;
  Count finalize = nullptr, release = nullptr;
  Enqueue enqueue = nullptr;
  /// Properties that a queue must have to run command buffers, and those that it may have.
  cl_command_queue_properties required = 0, supported = ~cl_command_queue_properties{0};

  explicit operator bool() const { return make && record && finalize && release && enqueue; }
  /// Whether buffers may be recorded for queues with these properties. Never of queues out of order: there each kernel
  /// would need a barrier of its own.
  bool take(cl_command_queue_properties properties) const {
    const bool is_in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    return *this && is_in_order && (properties & required) == required && (properties & ~supported) == 0;
  }
};

/// @errors those of native calls.
CommandBufferCalls command_buffer_calls(const opencl::Device& device);

/// Kernels for one queue, with the arguments that they had when they were recorded.
/// @thread one at a time.
class CommandBuffer {
 public:
  CommandBuffer() = default;  ///< Empty.
  /// @pre calls.take() the queue's properties. @errors those of native calls.
  CommandBuffer(const CommandBufferCalls& calls, cl_command_queue queue);
  CommandBuffer(CommandBuffer&& other) noexcept;
  CommandBuffer& operator=(CommandBuffer&& other) noexcept;
  ~CommandBuffer();
  explicit operator bool() const { return handle_ != nullptr; }

  void record(cl_kernel kernel, const Launch& launch);
  /// After the last kernel, before the first enqueue().
  void finish();
  /// @return false: what was enqueued before is not over for the driver, and nothing was enqueued.
  bool enqueue() const;

 private:
  CommandBufferCalls calls_;
  CommandBufferCalls::Handle handle_ = nullptr;
};

}  // namespace tenon::inline v1::gpu_device
