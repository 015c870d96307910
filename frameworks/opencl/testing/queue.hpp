// SPDX-License-Identifier: Apache-2.0
// Queues of tests, on loaders of any version.
#pragma once

#include <tenon/frameworks/opencl/native.hpp>
#include <tenon/frameworks/opencl/newer_calls.hpp>

namespace tenon::opencl {

/// A queue as a program makes it. @errors null: the call failed
inline cl_command_queue new_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties = 0) {
  cl_int status = CL_SUCCESS;
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  if (const auto make = detail::newer_calls().make_queue)
    return make(context, device, static_cast<const cl_queue_properties*>(list), &status);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return clCreateCommandQueue(context, device, properties, &status);
#pragma GCC diagnostic pop
}

}  // namespace tenon::opencl
