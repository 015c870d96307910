// SPDX-License-Identifier: Apache-2.0
// New contexts, and contexts around a user's objects.
#include <tenon/frameworks/opencl/make.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/external.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE Context assemble(Ref<Native> native, std::optional<Coherency> wished, std::string name = {}) {
  native->transfers = make_queue(*native);
  judge_sharing(*native, wished);
  judge_imports(*native);
  if (name.empty()) name = short_name(native->device);
  return Context(make_ref<BufferContext>(std::move(native), name));
}

TENON_INLINE Context make_context(cl_device_id device, std::optional<Coherency> wished, const std::string& name,
                                  const cl_context_properties* properties, void* display) {
  if (!device) throw Error(Code::kInvalidArgument, "opencl::make_context: a null cl_device_id");
  auto native = make_ref<Native>();
  native->va_display = display;
  native->device = read_device(device);
  native->context = Handle<cl_context>(create(
      "clCreateContext", [&] { return "making a context for " + native->device.name; }, clCreateContext, properties,
      cl_uint{1}, static_cast<const cl_device_id*>(&device),
      static_cast<void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*)>(nullptr),
      static_cast<void*>(nullptr)));
  native->queue = make_queue(*native);
  return assemble(std::move(native), wished, name);
}

TENON_INLINE std::vector<cl_device_id> devices_of(cl_context context) {
  const auto count = info<cl_uint>(clGetContextInfo, "clGetContextInfo", context, CL_CONTEXT_NUM_DEVICES);
  std::vector<cl_device_id> devices(count);
  check(call(clGetContextInfo, context, cl_context_info{CL_CONTEXT_DEVICES}, count * sizeof(cl_device_id),
             static_cast<void*>(devices.data()), static_cast<std::size_t*>(nullptr)),
        "clGetContextInfo", "asking for the devices of a context");
  if (devices.empty()) throw Error(Code::kInvalidArgument, "opencl::wrap: the cl_context has no device");
  return devices;
}

}  // namespace detail

TENON_INLINE Context make_context(cl_device_id device, std::optional<Coherency> wished) {
  return detail::make_context(device, wished, {});
}

TENON_INLINE Context make_context() {
  std::vector<Error> failures;
  const std::vector<cl_device_id> devices = detail::find_devices(failures);
  if (devices.empty() && !failures.empty()) throw failures.front();
  if (devices.empty())
    throw Error(Code::kUnavailable,
                "opencl: no platform with a device is installed: the ICD loader found none (install a driver, for "
                "instance pocl-opencl-icd, or set OCL_ICD_VENDORS)");
  return make_context(devices.front());
}

TENON_INLINE Context wrap(cl_context context, cl_command_queue queue, std::optional<Coherency> wished) {
  if (!context) throw Error(Code::kInvalidArgument, "opencl::wrap: a null cl_context");
  auto native = make_ref<detail::Native>();
  native->context = detail::Handle<cl_context>::retain(context, "wrapping a context");
  cl_device_id device = nullptr;
  if (queue) {
    using detail::info;
    if (info<cl_context>(clGetCommandQueueInfo, "clGetCommandQueueInfo", queue, CL_QUEUE_CONTEXT) != context)
      throw Error(Code::kInvalidArgument, "opencl::wrap: the queue belongs to another cl_context than the one given");
    device = info<cl_device_id>(clGetCommandQueueInfo, "clGetCommandQueueInfo", queue, CL_QUEUE_DEVICE);
    native->queue = detail::Handle<cl_command_queue>::retain(queue, "wrapping a queue");
  } else {
    device = detail::devices_of(context).front();
  }
  native->device = detail::read_device(device);
  if (!queue) native->queue = detail::make_queue(*native);
  return detail::assemble(std::move(native), wished);
}

TENON_INLINE Context wrap_device(cl_context context, cl_device_id device) {
  if (!context || !device)
    throw Error(Code::kInvalidArgument, "opencl::wrap_device: a null cl_context or cl_device_id");
  const std::vector<cl_device_id> devices = detail::devices_of(context);
  if (std::find(devices.begin(), devices.end(), device) == devices.end())
    throw Error(Code::kInvalidArgument, "opencl::wrap_device: the device is none of the cl_context's");
  auto native = make_ref<detail::Native>();
  native->context = detail::Handle<cl_context>::retain(context, "wrapping a context");
  native->device = detail::read_device(device);
  native->queue = detail::make_queue(*native);
  return detail::assemble(std::move(native), {});
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
