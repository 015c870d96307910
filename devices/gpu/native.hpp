// SPDX-License-Identifier: Apache-2.0
// What this device uses of OpenCL.
#pragma once

#include <chrono>

#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/make.hpp>    // IWYU pragma: export
#include <tenon/frameworks/opencl/opencl.hpp>  // IWYU pragma: export

namespace tenon::inline v1::gpu_device {

namespace client = tenon::v1::opencl::client;

/// Of a command that has ended, of a queue with times: on the device's clock, in nanoseconds.
inline cl_ulong time_of(const client::Handle<cl_event>& event, cl_profiling_info key) {
  return client::info<cl_ulong>(clGetEventProfilingInfo, "clGetEventProfilingInfo", event.get(), key);
}
inline std::chrono::nanoseconds duration_of(const client::Handle<cl_event>& event) {
  return std::chrono::nanoseconds(time_of(event, CL_PROFILING_COMMAND_END) -
                                  time_of(event, CL_PROFILING_COMMAND_START));
}

}  // namespace tenon::inline v1::gpu_device
