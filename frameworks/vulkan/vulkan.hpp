// SPDX-License-Identifier: Apache-2.0
// Vulkan: buffers, images and timeline semaphores of any driver. The loader, libvulkan.so.1, is found at run time.
//
//   Contexts   vulkan::contexts()                    what exists on this machine (contexts.hpp)
//              vulkan::make_context()                a VkDevice of our own
//              vulkan::wrap(Handles)                 the user's VkInstance, VkPhysicalDevice, VkDevice, VkQueue
//              vulkan::handles(context), device(context)   the native side
//   Buffers    vulkan::allocate(context, type, info) device-local, or mapped for the host
//              vulkan::wrap, adopt(context, UserBuffer, info)   the user's
//              vulkan::buffer(tensor)                its VkBuffer; the tensor begins at tensor.offset() in it
//   Images     vulkan::images(context)               their context      vulkan::image(tensor)   its VkImage
//              vulkan::allocate_image, allocate_frame, wrap_image, adopt_image, wrap_frame, adopt_frame
//              vulkan::layout(tensor), set_layout(tensor, layout)   the layout that it rests in
//   Other APIs vulkan::allocate_exported(context, info, kind), allocate_exported_image   opaque descriptors and dma-bufs
//              vulkan::export_fd(tensor), import_fd(context, fd, kind, size, info)
//              vulkan::record_acquire(tensor, commands), record_release   ownership around a user's commands
//   Waiting    vulkan::waits(tensor, access)         what a user's submission waits for
//              vulkan::wrote(tensor, semaphore, value), reads(...)   what it does, until a timeline semaphore says so
//              vulkan::point(context, semaphore, value), stream(context)
//              vulkan::Semaphore, export_sync_file, wait_for_sync_file   shared with other APIs
//
// Include this header; it includes the others of the folder. bridges/vulkan_opencl and bridges/vulkan_cuda share exported
// memory with those.
#pragma once

#include <tenon/frameworks/vulkan/context.hpp>    // IWYU pragma: export
#include <tenon/frameworks/vulkan/device.hpp>     // IWYU pragma: export
#include <tenon/frameworks/vulkan/image.hpp>      // IWYU pragma: export
#include <tenon/frameworks/vulkan/make.hpp>       // IWYU pragma: export
#include <tenon/frameworks/vulkan/memory.hpp>     // IWYU pragma: export
#include <tenon/frameworks/vulkan/semaphore.hpp>  // IWYU pragma: export
#include <tenon/frameworks/vulkan/sync.hpp>       // IWYU pragma: export
