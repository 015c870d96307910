// SPDX-License-Identifier: Apache-2.0
// Direct3D 11 on Windows: buffers and textures as tensors and frames.
//
//   Contexts   d3d11::contexts()                     what exists on this machine (contexts.hpp)
//              d3d11::wrap(ID3D11Device*)            the user's device, for buffers; textures(context): for textures
//   Buffers    context->allocate(requirements)       d3d11::buffer(tensor)            the ID3D11Buffer
//              d3d11::wrap_buffer, adopt_buffer      the user's
//   Textures   d3d11::allocate_frame(context, info)  d3d11::texture(plane)            the ID3D11Texture2D and its slice
//              d3d11::wrap_texture, adopt_texture    the user's, slices of arrays, NV12 and P010 as two planes
//   Waiting    d3d11::point(context), wrote(tensor), reads(tensor), KeyedMutexGuard
//
// Pixels and bytes reach the host by staging, which is booked as copied. Include this header; it includes the others of the folder.
#pragma once

#include <tenon/frameworks/d3d11/context.hpp>  // IWYU pragma: export
#include <tenon/frameworks/d3d11/memory.hpp>   // IWYU pragma: export
#include <tenon/frameworks/d3d11/native.hpp>   // IWYU pragma: export
#include <tenon/frameworks/d3d11/sync.hpp>     // IWYU pragma: export
