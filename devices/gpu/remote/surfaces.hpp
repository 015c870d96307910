// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API: which way they take here, and tensors over the memory behind them.
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
  void* display = nullptr;
  std::uint32_t surface = 0, plane = 0;
};
/// What a tensor over it says of it.
AnyMap params_of(const VaSurface& surface);

/// What works on the surfaces of a VADisplay, the best way first: a device whose platform shares them, in a cl_context of its own;
/// one that imports dma-bufs; one that has the host's memory. The last two in their default cl_contexts.
/// @errors kUnimplemented: there is no such device; says what each way lacks.
std::shared_ptr<const Gpu> gpu_for_surfaces(void* display);

/// A plane in place, where the platform does not share surfaces: the memory behind it, at its pitch and offset, which requests map to
/// the device anew for each inference. Waits until the surface is decoded.
/// @param shape  [h, w], [h, w, c] or [1, h, w, c]; may be less than the surface.
/// @errors kInvalidArgument: no such surface, another type or number of samples; kOutOfRange: no such plane, or larger than it;
/// kUnimplemented: tiled pixels, or a format that no tensor has; those of libva.
Tensor surface_tensor(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape,
                      const VaSurface& surface);

}  // namespace tenon::inline v1::gpu_device
