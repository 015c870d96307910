// SPDX-License-Identifier: Apache-2.0
// Makes contexts, new ones for a device or around a user's cl_context and queue.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

namespace detail {

/// @param properties  Those of the cl_context; null: none.  @param display  The VADisplay among them.
Context make_context(cl_device_id device, std::optional<Coherency> wished, const std::string& name,
                     const cl_context_properties* properties = nullptr, void* display = nullptr);

/// @errors kInvalidArgument: it has none.
std::vector<cl_device_id> devices_of(cl_context context);

}  // namespace detail

/// Makes a new context, with a queue, for one device. An alias test runs on CPU devices: see coherency().
/// @param wished  For tests and measurements: overrides what is found about the device.
/// @errors kInvalidArgument: null; those of native calls. @cost some 100 us.
Context make_context(cl_device_id device, std::optional<Coherency> wished = {});

/// Makes a new context for the first device: a GPU where there is one, a CPU where there is nothing else (detail::find_devices).
/// @errors kUnavailable: no OpenCL platform or device on this machine; those of native calls.
Context make_context();

/// Wraps the user's context and queue, with references of its own. If `queue` is null, one is created. Tenon's own
/// commands go to a separate queue, so the user's may be blocked without harm.
/// @errors kInvalidArgument: a null context, a queue of another context; those of native calls.
Context wrap(cl_context context, cl_command_queue queue, std::optional<Coherency> wished = {});

/// As wrap() without a queue, for one device of a context that may have several.
/// @errors kInvalidArgument: null, a device that is none of the context's; those of native calls.
Context wrap_device(cl_context context, cl_device_id device);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
