// SPDX-License-Identifier: Apache-2.0
// Typed wrappers of the GPU's contexts and remote tensors, with OpenVINO's names.
#pragma once

#include <string>
#include <utility>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#if __has_include(<CL/opencl.hpp>) && defined(TENON_OPENCL_HPP)
#ifndef CL_HPP_TARGET_OPENCL_VERSION
#define CL_HPP_TARGET_OPENCL_VERSION 300
#endif
#include <CL/opencl.hpp>
#endif

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_gpu {
namespace ocl {

/// A tensor over a cl_mem. @thread as Tensor.
class ClBufferTensor : public RemoteTensor {
 public:
  /// @errors kInvalidArgument: no tensor over a buffer.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(tensor, {{mem_handle.name(), {}},
                                      {shared_mem_type.name(), {Any(SharedMemType::OCL_BUFFER).as<std::string>()}}});
  }
  /// Valid as long as the tensor; retain it to keep it longer.
  cl_mem get() const { return static_cast<cl_mem>(get_params().at(mem_handle.name()).as<void*>()); }
  operator cl_mem() const { return get(); }
#ifdef CL_HPP_
  operator cl::Buffer() const { return cl::Buffer(get(), true); }
#endif
};

/// A tensor over a USM pointer, or an SVM one where the platform has no USM. @thread as Tensor.
class USMTensor : public RemoteTensor {
 public:
  /// @errors kInvalidArgument: no tensor over USM.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(tensor, {{mem_handle.name(), {}},
                                      {shared_mem_type.name(),
                                       {Any(SharedMemType::USM_USER_BUFFER).as<std::string>(),
                                        Any(SharedMemType::USM_HOST_BUFFER).as<std::string>(),
                                        Any(SharedMemType::USM_DEVICE_BUFFER).as<std::string>()}}});
  }
  /// Valid as long as the tensor.
  void* get() const { return get_params().at(mem_handle.name()).as<void*>(); }
};

/// A cl_context with one device. Every tensor and compiled model made from it keeps it alive. Handles given to it are
/// retained: the caller may release theirs.
///
/// The wrappers for cl::Buffer and cl::Context are there if TENON_OPENCL_HPP is defined before this header, and
/// CL/opencl.hpp is installed.
/// @errors of the functions that make tensors: kInvalidArgument (null, an image, a buffer of another cl_context),
///         kOutOfRange (too small: both sizes are named), kResourceExhausted.
/// @thread any.
class ClContext : public RemoteContext {
 protected:
  static constexpr const char* device_name = "GPU";
  ClContext() = default;

 public:
  using RemoteContext::create_tensor;

  static void type_check(const RemoteContext& context) {
    RemoteContext::type_check(
        context, {{context_type.name(), {Any(ContextType::OCL).as<std::string>()}}, {ocl_context.name(), {}}});
  }

  /// The device's default context: always the same one. @errors kUnavailable: there is no OpenCL device.
  ClContext(Core& core, const std::string& device = device_name) {
    *this = core.get_default_context(device).as<ClContext>();
  }
  /// In the application's cl_context. @param ctx_device_id  Which of its devices, counted from 0.
  /// @errors kInvalidArgument: null, or no such device.
  ClContext(Core& core, cl_context context, int ctx_device_id = 0) {
    *this = core.create_context(device_name, {{context_type.name(), ContextType::OCL},
                                              {ocl_context.name(), static_cast<void*>(context)},
                                              {ocl_context_device_id.name(), ctx_device_id}})
                .as<ClContext>();
  }
  /// In the application's queue, in or out of order: all inferences of models compiled in this context are enqueued
  /// there, whole, before start_async() returns, so that what the application enqueues next runs after them.
  /// Order within an out-of-order queue before and after an inference is the application's (barriers).
  /// @errors kInvalidArgument: null.
  ClContext(Core& core, cl_command_queue queue) {
    cl_context context = nullptr;
    if (!queue || clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr) != CL_SUCCESS)
      throw AssertFailure("[GPU] Can't create shared OCL context: the queue is null or none");
    *this = core.create_context(device_name, {{context_type.name(), ContextType::OCL},
                                              {ocl_context.name(), static_cast<void*>(context)},
                                              {ocl_queue.name(), static_cast<void*>(queue)}})
                .as<ClContext>();
  }

  /// Valid as long as the context; retain it to keep it longer.
  cl_context get() const { return static_cast<cl_context>(get_params().at(ocl_context.name()).as<void*>()); }
  operator cl_context() const { return get(); }
#ifdef CL_HPP_
  operator cl::Context() const { return cl::Context(get(), true); }
#endif

  /// The application's buffer, in place.
  ClBufferTensor create_tensor(const element::Type type, const Shape& shape, const cl_mem buffer) {
    return RemoteContext::create_tensor(
               type, shape,
               {{shared_mem_type.name(), SharedMemType::OCL_BUFFER}, {mem_handle.name(), static_cast<void*>(buffer)}})
        .as<ClBufferTensor>();
  }
  /// The application's USM, in place; it must outlive the tensor. Where the platform has no USM, its SVM of this
  /// cl_context, which OpenCL cannot check.
  USMTensor create_tensor(const element::Type type, const Shape& shape, void* usm_ptr) {
    return make_pointer(type, shape,
                        {{shared_mem_type.name(), SharedMemType::USM_USER_BUFFER}, {mem_handle.name(), usm_ptr}});
  }
  /// New memory of the host's that the device reads. Without USM and fine-grained SVM the host has to map it.
  USMTensor create_usm_host_tensor(const element::Type type, const Shape& shape) {
    return make_pointer(type, shape, {{shared_mem_type.name(), SharedMemType::USM_HOST_BUFFER}});
  }
  /// New memory of the device's.
  USMTensor create_usm_device_tensor(const element::Type type, const Shape& shape) {
    return make_pointer(type, shape, {{shared_mem_type.name(), SharedMemType::USM_DEVICE_BUFFER}});
  }
#ifdef CL_HPP_
  ClBufferTensor create_tensor(const element::Type type, const Shape& shape, const cl::Buffer& buffer) {
    return create_tensor(type, shape, buffer.get());
  }
#endif

 private:
  USMTensor make_pointer(const element::Type type, const Shape& shape, const AnyMap& params) {
    return RemoteContext::create_tensor(type, shape, params).as<USMTensor>();
  }
};

}  // namespace ocl
}  // namespace intel_gpu
}  // namespace v1
}  // namespace tenon
