// SPDX-License-Identifier: Apache-2.0
// Typed wrappers of contexts and tensors over Direct3D 11, with OpenVINO's names. For Windows alone: elsewhere VA_DEVICE is a VADisplay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/remote_tensor.hpp>

// As d3d11.h has them.
struct ID3D11Buffer;
struct ID3D11Device;
struct ID3D11Texture2D;

namespace tenon {
inline namespace v1 {
namespace intel_gpu {
namespace ocl {

/// An ID3D11Buffer as an input. No platform here shares it with OpenCL, so get() and the conversions to cl_mem and cl::Buffer are refused
/// (kInvalidArgument: no MEM_HANDLE). @thread as Tensor.
class D3DBufferTensor : public ClBufferTensor {
 public:
  /// @errors kInvalidArgument: no tensor over an ID3D11Buffer.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(tensor, {{dev_object_handle.name(), {}},
                                      {shared_mem_type.name(), {Any(SharedMemType::DX_BUFFER).as<std::string>()}}});
  }
  /// Valid as long as the tensor, which holds a reference.
  operator ID3D11Buffer*() const {
    return static_cast<ID3D11Buffer*>(get_params().at(dev_object_handle.name()).as<void*>());
  }
};

/// A plane of an ID3D11Texture2D as an input; get() as that of D3DBufferTensor. @thread as Tensor.
class D3DSurface2DTensor : public ClImage2DTensor {
 public:
  /// @errors kInvalidArgument: no tensor over a texture.
  static void type_check(const Tensor& remote_tensor) {
    RemoteTensor::type_check(remote_tensor,
                             {{dev_object_handle.name(), {}},
                              {va_plane.name(), {}},
                              {shared_mem_type.name(), {Any(SharedMemType::VA_SURFACE).as<std::string>()}}});
  }
  /// Valid as long as the tensor, which holds a reference.
  operator ID3D11Texture2D*() const {
    return static_cast<ID3D11Texture2D*>(get_params().at(dev_object_handle.name()).as<void*>());
  }
  std::uint32_t plane() const { return get_params().at(va_plane.name()).as<std::uint32_t>(); }
};

/// A context on the GPU device for the buffers and textures of an ID3D11Device. At each inference they are copied by staging memory, which is
/// booked and refused under ZeroCopy::kRequire, since Tenon knows neither cl_khr_d3d11_sharing nor cl_intel_d3d11_nv12_media_sharing. Outputs
/// are given to the host or to OpenCL's memory. @thread any.
class D3DContext : public ClContext {
 public:
  using ClContext::create_tensor;

  static void type_check(const RemoteContext& remote_context) {
    RemoteContext::type_check(remote_context, {{va_device.name(), {}},
                                               {context_type.name(), {Any(ContextType::VA_SHARED).as<std::string>()}}});
  }

  /// @param device  Stays the application's, and must outlive the context; tensors hold references.
  /// @param target_tile_id  -1 or 0: contexts are of whole devices.
  /// @errors kInvalidArgument: null; kUnavailable: it was removed, or there is no OpenCL device; kUnimplemented: another tile.
  D3DContext(Core& core, ID3D11Device* device, int target_tile_id = -1) {
    *this = core.create_context(device_name, {{context_type.name(), ContextType::VA_SHARED},
                                              {va_device.name(), static_cast<void*>(device)},
                                              {tile_id.name(), target_tile_id}})
                .as<D3DContext>();
  }

  operator ID3D11Device*() const { return static_cast<ID3D11Device*>(get_params().at(va_device.name()).as<void*>()); }

  /// The planes of an NV12 texture: Y [1, h, w, 1] and UV [1, h / 2, w / 2, 2]. The texture may be larger. What is drawn or decoded into it
  /// later is read by later inferences. @errors as create_tensor() of a texture.
  std::pair<D3DSurface2DTensor, D3DSurface2DTensor> create_tensor_nv12(const std::size_t height,
                                                                       const std::size_t width,
                                                                       ID3D11Texture2D* nv12_surf) {
    return {create_tensor(element::u8, Shape{1, height, width, 1}, nv12_surf, 0),
            create_tensor(element::u8, Shape{1, height / 2, width / 2, 2}, nv12_surf, 1)};
  }
  /// The first bytes of a buffer. @errors kInvalidArgument: null, or another device's; kOutOfRange: larger than the buffer.
  D3DBufferTensor create_tensor(const element::Type type, const Shape& shape, ID3D11Buffer* buffer) {
    return RemoteContext::create_tensor(type, shape,
                                        {{shared_mem_type.name(), SharedMemType::DX_BUFFER},
                                         {dev_object_handle.name(), static_cast<void*>(buffer)}})
        .as<D3DBufferTensor>();
  }
  /// One plane of a texture: u8 or u16 [h, w], [h, w, c] or [1, h, w, c].
  /// @errors kInvalidArgument: null, another device's, another type or other samples; kOutOfRange: no such plane, larger than it;
  /// kUnimplemented: a format that frameworks/d3d11 lacks.
  D3DSurface2DTensor create_tensor(const element::Type type, const Shape& shape, ID3D11Texture2D* surface,
                                   std::uint32_t plane = 0) {
    return RemoteContext::create_tensor(type, shape,
                                        {{shared_mem_type.name(), SharedMemType::VA_SURFACE},
                                         {dev_object_handle.name(), static_cast<void*>(surface)},
                                         {va_plane.name(), plane}})
        .as<D3DSurface2DTensor>();
  }
};

}  // namespace ocl
}  // namespace intel_gpu
}  // namespace v1
}  // namespace tenon
