// SPDX-License-Identifier: Apache-2.0
// Typed wrappers of the GPU's contexts and remote tensors, with OpenVINO's names.
#pragma once

#include <cstddef>
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

using gpu_handle_param = intel_gpu::gpu_handle_param;
using SharedBufferHandle = intel_gpu::SharedBufferHandle;
using VirtualAddressMemory = intel_gpu::VirtualAddressMemory;
using FileDescriptor = intel_gpu::FileDescriptor;

/// A tensor over a cl_mem. @thread as Tensor.
/// @errors of get() and the conversions: kInvalidArgument: a buffer of another API that has no cl_mem here (D3DBufferTensor).
class ClBufferTensor : public RemoteTensor {
 public:
  /// @errors kInvalidArgument: no tensor over a buffer.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(
        tensor,
        {{mem_handle.name(), {}},
         {shared_mem_type.name(),
          {Any(SharedMemType::OCL_BUFFER).as<std::string>(), Any(SharedMemType::CPU_VA).as<std::string>(),
           Any(SharedMemType::BUFFER_FROM_HANDLE).as<std::string>(), Any(SharedMemType::MMAPED_FILE).as<std::string>(),
           Any(SharedMemType::DX_BUFFER).as<std::string>()}}});
  }
  /// Valid as long as the tensor; retain it to keep it longer.
  cl_mem get() const {
    const AnyMap params = get_params();
    const auto found = params.find(mem_handle.name());
    if (found == params.end()) RemoteTensor::type_check(*this, {{mem_handle.name(), {}}});  // Refuses it, by name.
    return static_cast<cl_mem>(found->second.as<void*>());
  }
  operator cl_mem() const { return get(); }
#ifdef CL_HPP_
  operator cl::Buffer() const { return cl::Buffer(get(), true); }
#endif
};

/// A tensor over a 2-D image: a plane of a picture. Kernels read it where it lies. @thread as Tensor.
/// @errors of get() and the conversions: kInvalidArgument: a VA surface that is no image here (VASurfaceTensor).
class ClImage2DTensor : public RemoteTensor {
 public:
  /// @errors kInvalidArgument: no tensor over an image.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(
        tensor,
        {{mem_handle.name(), {}},
         {shared_mem_type.name(),
          {Any(SharedMemType::OCL_IMAGE2D).as<std::string>(), Any(SharedMemType::VA_SURFACE).as<std::string>()}}});
  }
  /// Valid as long as the tensor; retain it to keep it longer.
  cl_mem get() const {
    RemoteTensor::type_check(*this, {{mem_handle.name(), {}}});
    return static_cast<cl_mem>(get_params().at(mem_handle.name()).as<void*>());
  }
  operator cl_mem() const { return get(); }
#ifdef CL_HPP_
  operator cl::Image2D() const { return cl::Image2D(get(), true); }
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
/// @errors of the functions that make tensors: kInvalidArgument (null, an image for a buffer or the other way round, a cl_mem of another cl_context, an image format that
///         does not hold the type and samples),
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
        context, {{ocl_context.name(), {}},
                  {context_type.name(),
                   {Any(ContextType::OCL).as<std::string>(), Any(ContextType::VA_SHARED).as<std::string>()}}});
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
  /// What another API exported, by its descriptor: a dma-buf, or memory of the driver's other APIs. It stays the application's, and may
  /// be closed. @errors kUnimplemented: the device imports no such descriptors (says what it lacks); kInvalidArgument: it is closed.
  ClBufferTensor create_tensor(const element::Type type, const Shape& shape, SharedBufferHandle handle) {
    return RemoteContext::create_tensor(
               type, shape,
               {{shared_mem_type.name(), SharedMemType::BUFFER_FROM_HANDLE}, {os_handle.name(), handle.value}})
        .as<ClBufferTensor>();
  }
  /// The application's pages, in place; they must outlive the tensor. @errors kUnimplemented: the device has memory of its own;
  /// kInvalidArgument: an address that the device would copy from (says the alignment); kOutOfRange: too few bytes.
  ClBufferTensor create_tensor(const element::Type type, const Shape& shape, VirtualAddressMemory memory) {
    return RemoteContext::create_tensor(type, shape,
                                        {{shared_mem_type.name(), SharedMemType::CPU_VA},
                                         {cpu_va.name(), memory.ptr},
                                         {cpu_va_size.name(), memory.size},
                                         {cpu_va_access.name(), memory.access}})
        .as<ClBufferTensor>();
  }
  /// A file's bytes, in place, as long as the memory lives; the file must not change meanwhile. Its offset is a multiple of a
  /// page. AccessMode::READ_WRITE needs a file that may be written, and gets what is written to the tensor.
  /// @errors kNotFound, kInvalidArgument: the file, or the offset; kOutOfRange: too few bytes; kUnimplemented: the device has memory of its own.
  ClBufferTensor create_tensor(const element::Type type, const Shape& shape, const FileDescriptor& file) {
    return RemoteContext::create_tensor(
               type, shape, {{shared_mem_type.name(), SharedMemType::MMAPED_FILE}, {file_descriptor.name(), file}})
        .as<ClBufferTensor>();
  }
  /// The application's 2-D image, in place: a picture [h, w], [h, w, c] or [1, h, w, c] of the image's type, with as
  /// many components a pixel as samples, or one (CL_R, with c pixels for a column). The image may be larger.
  ClImage2DTensor create_image_tensor(const element::Type type, const Shape& shape, const cl_mem image) {
    return make_image(type, shape, {{mem_handle.name(), static_cast<void*>(image)}});
  }
  /// A new image; of one component a pixel where the platform has no format of as many as the shape has samples.
  ClImage2DTensor create_image_tensor(const element::Type type, const Shape& shape) {
    return make_image(type, shape, {});
  }
  /// The planes of an NV12 picture, in place: u8 [1, h, w, 1] and [1, h/2, w/2, 2].
  /// @param y  An image of CL_R, whose extents are the picture's.
  /// @param uv  CL_RG of half the extents, or CL_R of its width and half its height.
  /// @errors kInvalidArgument: an odd width or height, besides those of every tensor.
  std::pair<ClImage2DTensor, ClImage2DTensor> create_tensor_nv12(const cl_mem y, const cl_mem uv) {
    return make_nv12(extent(y, CL_IMAGE_HEIGHT), extent(y, CL_IMAGE_WIDTH),
                     {{mem_handle.name(), static_cast<void*>(y)}}, {{mem_handle.name(), static_cast<void*>(uv)}});
  }
  /// The same of new images. @errors as above; kUnimplemented: the platform has no images of bytes.
  std::pair<ClImage2DTensor, ClImage2DTensor> create_tensor_nv12(const std::size_t height, const std::size_t width) {
    return make_nv12(height, width, {}, {});
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
  ClImage2DTensor create_tensor(const element::Type type, const Shape& shape, const cl::Image2D& image) {
    return create_image_tensor(type, shape, image.get());
  }
  std::pair<ClImage2DTensor, ClImage2DTensor> create_tensor_nv12(const cl::Image2D& y, const cl::Image2D& uv) {
    return create_tensor_nv12(y.get(), uv.get());
  }
#endif

 private:
  static std::size_t extent(cl_mem image, cl_image_info what) {
    std::size_t value = 0;
    if (!image || clGetImageInfo(image, what, sizeof value, &value, nullptr) != CL_SUCCESS)
      throw AssertFailure("[GPU] Can't create an NV12 tensor: a plane is null or no image");
    return value;
  }
  std::pair<ClImage2DTensor, ClImage2DTensor> make_nv12(std::size_t height, std::size_t width, const AnyMap& y,
                                                        const AnyMap& uv) {
    if (height % 2 != 0 || width % 2 != 0 || height == 0 || width == 0)
      throw AssertFailure("[GPU] Can't create an NV12 tensor of " + std::to_string(width) + "x" +
                          std::to_string(height) +
                          " pixels: chroma has half of the width and height, so both must be even and not 0");
    return {make_image(element::u8, Shape{1, height, width, 1}, y),
            make_image(element::u8, Shape{1, height / 2, width / 2, 2}, uv)};
  }
  ClImage2DTensor make_image(const element::Type type, const Shape& shape, AnyMap params) {
    params[shared_mem_type.name()] = SharedMemType::OCL_IMAGE2D;
    return RemoteContext::create_tensor(type, shape, params).as<ClImage2DTensor>();
  }
  USMTensor make_pointer(const element::Type type, const Shape& shape, const AnyMap& params) {
    return RemoteContext::create_tensor(type, shape, params).as<USMTensor>();
  }
};

}  // namespace ocl
}  // namespace intel_gpu
}  // namespace v1
}  // namespace tenon
