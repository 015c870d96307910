// SPDX-License-Identifier: Apache-2.0
// What this device uses of OpenCL.
#pragma once

#include <chrono>

#include <tenon/frameworks/opencl/client.hpp>  // IWYU pragma: export

namespace tenon::inline v1::gpu_device {

namespace client = tenon::v1::opencl::client;

/// For calls that wait for no event, and that give none.
inline constexpr const cl_event* kNoEvents = nullptr;
inline constexpr cl_event* kNoEvent = nullptr;

/// When a command of a queue with times began or ended, as `key` says. @errors those of clGetEventProfilingInfo.
inline std::chrono::nanoseconds time_of(cl_event event, cl_profiling_info key) {
  return std::chrono::nanoseconds(
      client::info<cl_ulong>(clGetEventProfilingInfo, "clGetEventProfilingInfo", event, key));
}
/// How long it ran.
inline std::chrono::nanoseconds duration_of(cl_event event) {
  return time_of(event, CL_PROFILING_COMMAND_END) - time_of(event, CL_PROFILING_COMMAND_START);
}

}  // namespace tenon::inline v1::gpu_device
