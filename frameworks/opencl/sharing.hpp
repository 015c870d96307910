// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API and resources of Direct3D 11 by the platform's own sharing, where it offers that.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// APIs of pictures that a platform may share objects with.
enum class PictureApi : std::uint8_t { kVa, kD3d11 };

/// Whether the device behind `context` shares objects of `api`: by its extension string, and for VA only in a context of
/// make_va_context(). @param reason  If not null: is set to what is missing.
/// @errors kInvalidArgument: a context of another framework.
bool shares(const Context& context, PictureApi api, std::string* reason = nullptr);

/// A new cl_context on the first device that shares surfaces of `display`, a VADisplay, which stays the caller's and must
/// outlive it. @errors kInvalidArgument: null; kUnavailable: no device shares them (says what each lacks): export the
/// surface as a dma-buf and map that. @source cl_intel_va_api_media_sharing
Context make_va_context(void* display);

/// A plane of a VASurfaceID as an image [h, w] (Y) or [h, w, 2] (UV), in place. OpenCL has the surface as long as the
/// tensor lives: decode into it again after that. The surface stays the caller's.
/// @param context  opencl::images(make_va_context(display)).
/// @errors kUnimplemented: says what is missing; kInvalidArgument: no such surface or plane; those of the calls.
Tensor import_va_surface(const Context& context, unsigned int surface, unsigned int plane);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
