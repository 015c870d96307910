// SPDX-License-Identifier: Apache-2.0
// OpenCL: buffers, images, USM and SVM of any platform as Tenon's memory.
//
//   Contexts     opencl::contexts()              what exists on this machine (contexts.hpp)
//                opencl::make_context(device)    a cl_context and queue of our own
//                opencl::wrap(cl_context, cl_command_queue)   the user's, borrowed by references
//                opencl::queue(context), handle(context), device(context)   the native side
//   Buffers      opencl::wrap(context, cl_mem, info)     borrow     opencl::adopt(context, cl_mem, info)   take over
//                opencl::buffer(tensor)          its cl_mem; the tensor begins at tensor.offset() in it
//                opencl::sub_buffer(tensor)      a cl_mem that begins at the tensor
//   Images       opencl::images(context)         their context    opencl::image(tensor)   its cl_mem
//                opencl::allocate_image, wrap_image, adopt_image; allocate_frame: NV12 as R8 + RG8 where there is RG8
//   USM          opencl::usm(context)            opencl::usm_pointer(tensor)   allocate_usm, wrap_usm, adopt_usm
//   SVM          opencl::svm(context)            opencl::svm_pointer(tensor)   allocate_svm, wrap_svm
//   Other APIs   opencl::imports(context, kind)  whether the device takes such descriptors
//                opencl::import_fd(context, fd, kind, size, info)   their memory as a buffer; give_back(), take()
//                opencl::Semaphore               theirs and ours by descriptor; dma-bufs go through the Router
//   Pictures     opencl::make_va_context(display), import_va_surface   where the platform shares VA surfaces
//   Waiting      opencl::wrote(tensor, event), reads(tensor, event)   a user's command; host accesses wait for it
//                opencl::wait_list(tensor, access)    what a user's command must wait for
//                opencl::point(event)            a cl_event as a TimelinePoint
//
// Each kind of memory has its own context over one cl_context; that of buffers is the main one and gives access to the
// others. Include this header; it includes the others of the folder.
#pragma once

#include <tenon/frameworks/opencl/buffer.hpp>         // IWYU pragma: export
#include <tenon/frameworks/opencl/buffer_edges.hpp>   // IWYU pragma: export
#include <tenon/frameworks/opencl/context.hpp>        // IWYU pragma: export
#include <tenon/frameworks/opencl/dmabuf_edges.hpp>   // IWYU pragma: export
#include <tenon/frameworks/opencl/edges.hpp>          // IWYU pragma: export
#include <tenon/frameworks/opencl/external.hpp>       // IWYU pragma: export
#include <tenon/frameworks/opencl/image.hpp>          // IWYU pragma: export
#include <tenon/frameworks/opencl/image_edges.hpp>    // IWYU pragma: export
#include <tenon/frameworks/opencl/make.hpp>           // IWYU pragma: export
#include <tenon/frameworks/opencl/pointer_edges.hpp>  // IWYU pragma: export
#include <tenon/frameworks/opencl/semaphore.hpp>      // IWYU pragma: export
#include <tenon/frameworks/opencl/sharing.hpp>        // IWYU pragma: export
#include <tenon/frameworks/opencl/svm.hpp>            // IWYU pragma: export
#include <tenon/frameworks/opencl/sync.hpp>           // IWYU pragma: export
#include <tenon/frameworks/opencl/usm.hpp>            // IWYU pragma: export
