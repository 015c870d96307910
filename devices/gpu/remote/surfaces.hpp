// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API, or of Direct3D 11 on Windows: which way they take here, and tensors over the memory behind them.
#pragma once

#include <cstdint>
#include <memory>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>

namespace tenon::inline v1::gpu_device {

/// A plane of a surface.
struct VaSurface {
  void* display = nullptr;     ///< A VADisplay; or an ID3D11Device.
  std::uintptr_t surface = 0;  ///< A VASurfaceID; or the address of an ID3D11Texture2D.
  std::uint32_t plane = 0;
};
/// The surface that DEV_OBJECT_HANDLE names. @errors those of Any: another type.
std::uintptr_t surface_of(const Any& handle);
/// What a tensor over it says of it.
AnyMap params_of(const VaSurface& surface);

/// What works on the surfaces of a VADisplay, the best way first: a device whose platform shares them, in a cl_context of its own;
/// one that imports dma-bufs; one that has the host's memory. The last two in their default cl_contexts. For an ID3D11Device, the first
/// device: surfaces are copied to any. @errors kUnimplemented: there is no such device; says what each way lacks; kUnavailable.
std::shared_ptr<const Gpu> gpu_for_surfaces(void* display);

/// A plane in place, where the platform does not share surfaces: the memory behind it, at its pitch and offset, which requests map to
/// the device anew for each inference. Waits until the surface is decoded.
/// @param shape  [h, w], [h, w, c] or [1, h, w, c]; may be less than the surface.
/// @errors kInvalidArgument: no such surface, another type or number of samples; kOutOfRange: no such plane, or larger than it;
/// kUnimplemented: tiled pixels, or a format that no tensor has; those of libva.
Tensor surface_tensor(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape,
                      const VaSurface& surface);

/// An ID3D11Buffer of the ID3D11Device `device`. @errors kInvalidArgument: null, another device's; kOutOfRange: larger than it;
/// kUnimplemented: this is not Windows.
Tensor direct3d_buffer(const std::shared_ptr<const Gpu>& gpu, void* device, element::Type type, const Shape& shape,
                       void* buffer);

}  // namespace tenon::inline v1::gpu_device
