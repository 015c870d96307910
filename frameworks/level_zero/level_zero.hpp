// SPDX-License-Identifier: Apache-2.0
// Level Zero: host, device and shared memory of GPUs and NPUs as Tenon's memory.
//
//   Drivers      level_zero::drivers(), devices()     what the loader offers, and what each says of itself
//   Contexts     level_zero::contexts()               what exists on this machine (contexts.hpp)
//                level_zero::make_context(device)     a ze_context of our own
//                level_zero::wrap(ze_context, ze_device)   the user's, borrowed
//                level_zero::handle(context), device(context)   the native side
//   Memory       level_zero::allocate(context, UsmType, info, hints)   Context::allocate with Requirements::fd exports
//                level_zero::wrap(context, pointer, info)   borrow     adopt(context, pointer, info)   take over
//                level_zero::usm_pointer(tensor)      the address of its first element
//                level_zero::usm_type(tensor), allocation_id(tensor), export_fd(tensor)
//   Waiting      level_zero::wrote(tensor, event), reads(tensor, event)   a user's command; host accesses wait for it
//                level_zero::wait_list(tensor, access)    what a user's command must wait for
//                level_zero::stream(context, queue or immediate list)   as MapOptions::stream: it waits by itself
//                level_zero::point(event or fence)    as a TimelinePoint        Semaphore   of another API
//
// Include this header; it includes the others of the folder. abi/ declares what the packaged headers lack.
#pragma once

#include <tenon/frameworks/level_zero/context.hpp>
#include <tenon/frameworks/level_zero/device.hpp>
#include <tenon/frameworks/level_zero/dmabuf_edges.hpp>
#include <tenon/frameworks/level_zero/edges.hpp>
#include <tenon/frameworks/level_zero/event.hpp>
#include <tenon/frameworks/level_zero/make.hpp>
#include <tenon/frameworks/level_zero/stream.hpp>
#include <tenon/frameworks/level_zero/sync.hpp>
