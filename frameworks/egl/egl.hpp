// SPDX-License-Identifier: Apache-2.0
// EGL with OpenGL ES: textures, dma-bufs as textures, fences. The libraries, libEGL.so.1 and libGLESv2.so.2, are found at run time.
//
//   Contexts   egl::contexts()                    what exists on this machine (contexts.hpp)
//              egl::make_context()                a display without a window system
//              egl::wrap(EGLDisplay, EGLContext)  the user's share group
//              egl::share_group(context)          to make contexts that see Tenon's textures
//   Textures   egl::allocate(context, type, shape), allocate_frame    egl::texture(tensor)   the name
//              egl::wrap(context, texture)        borrow     egl::adopt(context, texture, release)
//              egl::export_dmabuf(tensor)         as a dma-buf
//   Waiting    egl::order(tensor, access)         before commands: the renderer waits where it can
//              egl::wrote(tensor), reads(tensor)  after them, on their thread
//              egl::fence(context), point(context, sync), export_sync_file(context)
//
// GL's calls belong to a thread: each context has one of its own, on which Tenon's copies run. Include this header; it includes the
// others of the folder.
#pragma once

#include <tenon/frameworks/egl/context.hpp>  // IWYU pragma: export
#include <tenon/frameworks/egl/device.hpp>   // IWYU pragma: export
#include <tenon/frameworks/egl/export.hpp>   // IWYU pragma: export
#include <tenon/frameworks/egl/sync.hpp>     // IWYU pragma: export
#include <tenon/frameworks/egl/texture.hpp>  // IWYU pragma: export
