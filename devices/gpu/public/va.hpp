// SPDX-License-Identifier: Apache-2.0
// Typed wrappers of contexts and tensors over VA-API, with OpenVINO's names.
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

namespace tenon {
inline namespace v1 {
namespace intel_gpu {
namespace ocl {

/// A VADisplay and a VASurfaceID, as va/va.h has them, which need not be installed.
using VADisplayHandle = void*;
using VASurfaceHandle = std::uint32_t;

/// A plane of a surface. It is an image where the platform shares surfaces (cl_intel_va_api_media_sharing). Elsewhere kernels read the memory
/// behind it, and get() and the conversions to cl_mem and cl::Image2D are refused (kInvalidArgument: no MEM_HANDLE). @thread as Tensor.
class VASurfaceTensor : public ClImage2DTensor {
 public:
  /// @errors kInvalidArgument: no tensor over a surface.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(tensor, {{dev_object_handle.name(), {}},
                                      {va_plane.name(), {}},
                                      {shared_mem_type.name(), {Any(SharedMemType::VA_SURFACE).as<std::string>()}}});
  }
  operator VASurfaceHandle() const { return get_params().at(dev_object_handle.name()).as<std::uint32_t>(); }
  std::uint32_t plane() const { return get_params().at(va_plane.name()).as<std::uint32_t>(); }
};

/// A context on the device of a VADisplay, whose surfaces become tensors. @thread any.
class VAContext : public ClContext {
 public:
  using ClContext::create_tensor;

  static void type_check(const RemoteContext& context) {
    RemoteContext::type_check(
        context, {{va_device.name(), {}}, {context_type.name(), {Any(ContextType::VA_SHARED).as<std::string>()}}});
  }

  /// On the device that can use the display's surfaces best: one whose platform shares them (cl_intel_va_api_media_sharing), one
  /// that imports dma-bufs, one that works in the host's memory. libva is loaded by name.
  /// @param display  A VADisplay; stays the application's, and must outlive the context and its tensors.
  /// @param target_tile_id  -1 or 0: contexts are of whole devices.
  /// @errors kInvalidArgument: null; kUnimplemented: no device can; says what each way lacks, and the way around; another tile.
  VAContext(Core& core, VADisplayHandle display, int target_tile_id = -1) {
    *this = core.create_context(device_name, {{context_type.name(), ContextType::VA_SHARED},
                                              {va_device.name(), static_cast<void*>(display)},
                                              {tile_id.name(), target_tile_id}})
                .as<VAContext>();
  }

  operator VADisplayHandle() const { return get_params().at(va_device.name()).as<void*>(); }

  /// The planes of an NV12 surface, in place: Y [1, h, w, 1] and UV [1, h / 2, w / 2, 2]. Waits until it is decoded: make the
  /// tensors anew for what is decoded into it later. The surface may be larger, and must not be decoded into while they are used.
  /// @errors kInvalidArgument: no such surface, another type or other samples; kOutOfRange: larger than the surface;
  /// kUnimplemented: tiled pixels where the platform does not share surfaces.
  std::pair<VASurfaceTensor, VASurfaceTensor> create_tensor_nv12(std::size_t height, std::size_t width,
                                                                 VASurfaceHandle surface) {
    return {create_tensor(element::u8, Shape{1, height, width, 1}, surface, 0),
            create_tensor(element::u8, Shape{1, height / 2, width / 2, 2}, surface, 1)};
  }
  /// One plane of a surface: u8 or u16 [1, h, w, c]. @errors as create_tensor_nv12().
  VASurfaceTensor create_tensor(const element::Type type, const Shape& shape, VASurfaceHandle surface,
                                std::uint32_t plane = 0) {
    return RemoteContext::create_tensor(type, shape,
                                        {{shared_mem_type.name(), SharedMemType::VA_SURFACE},
                                         {dev_object_handle.name(), surface},
                                         {va_plane.name(), plane}})
        .as<VASurfaceTensor>();
  }
};

}  // namespace ocl
}  // namespace intel_gpu
}  // namespace v1
}  // namespace tenon
