// SPDX-License-Identifier: Apache-2.0
// Points of any timeline as cl_events, so that queues wait instead of the host.
#pragma once

#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

/// An event that completes with all work now in `queue`; flushed.
Handle<cl_event> marker(cl_command_queue queue);

/// Its waits must not hold up each other. Only on POSIX.
bool waits_for_sync_files(const Native& native);
/// A sync file as an event, on devices that wait for fences of the kernel; empty for other points, so always on Windows.
/// @errors those of the calls.
Handle<cl_event> wait_for_sync_file(const Native& native, const TimelinePoint& point);

/// `point` as an event that commands of this cl_context can wait for. Its own event, if it is one of this cl_context;
/// its queue is flushed, since a queue that waits for an unflushed one would wait for ever. A sync file where the device
/// waits for such, else a user event.
Handle<cl_event> event_for(const Native& native, const TimelinePoint& point);

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
