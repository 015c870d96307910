// SPDX-License-Identifier: Apache-2.0
// SYCL: unified shared memory (host, device, shared), queues and events, with a plain C++ compiler.
//
//   in:   sycl::wrap(queue)                     the user's context and device;  sycl::make_context(device)
//         sycl::wrap(context, pointer, info)    the user's USM;  sycl::adopt(...)  with its ownership
//         sycl::allocate(context, type, info)   new USM
//   out:  sycl::usm_pointer(tensor)             for kernels and memcpy
//   sync: sycl::depends_on(tensor, access)      before a command, for handler::depends_on
//         sycl::wrote(tensor, event)            after a command that writes the tensor;  sycl::reads(...)
//         sycl::stream(context, queue)          as MapOptions::stream;  sycl::point(event)  as a TimelinePoint
//
// The namespace is tenon::sycl: programs that are `using namespace tenon` write ::sycl for SYCL's own. Include this header;
// it includes the others of the folder. bridges/sycl_opencl shares USM with OpenCL's.
#pragma once

#include <tenon/frameworks/sycl/context.hpp>
#include <tenon/frameworks/sycl/edges.hpp>
#include <tenon/frameworks/sycl/event.hpp>
#include <tenon/frameworks/sycl/make.hpp>
