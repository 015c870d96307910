// SPDX-License-Identifier: Apache-2.0
// Points of other timelines as events: sync files by semaphores where the device waits for such, else user events.
#include <tenon/frameworks/opencl/fence.hpp>

#include <string>
#include <utility>

#include <tenon/core/export.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/semaphore.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE Handle<cl_event> marker(cl_command_queue queue) {
  cl_event event = nullptr;
  check(call(clEnqueueMarkerWithWaitList, queue, cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueMarkerWithWaitList", "marking what was enqueued");
  Handle<cl_event> made(event);
  check(call(clFlush, queue), "clFlush", "marking what was enqueued");
  return made;
}

/// A user event as the signal of a RelayedPoint. When the point fails, commands that wait for it fail too.
struct UserEvent {
  Handle<cl_event> event;
  void set(bool failed) noexcept {
    clSetUserEventStatus(event.get(), failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE);
  }
};

/// A user event that is set when `point` is settled.
TENON_INLINE Handle<cl_event> relay(const Native& native, const TimelinePoint& point) {
  constexpr const char* kWhat = "an event for a point of another API";
  UserEvent signal{Handle<cl_event>(create(
      "clCreateUserEvent", [] { return std::string(kWhat); }, clCreateUserEvent, native.context.get()))};
  try {
    Handle<cl_event> event = Handle<cl_event>::retain(signal.event.get(), kWhat);
    RelayedPoint<UserEvent>::relay(point, std::move(signal));
    return event;
  } catch (...) {
    // NVIDIA's clReleaseContext waits for ever for a user event that was never set, even if nothing waits for that.
    if (signal.event) signal.set(true);
    throw;
  }
}

TENON_INLINE Handle<cl_event> event_for(const Native& native, const TimelinePoint& point) {
  const auto* timeline = dynamic_cast<const EventTimeline*>(point.timeline().get());
  const cl_event event = timeline ? timeline->event() : nullptr;
  if (Handle<cl_event> waits = wait_for_sync_file(native, point)) return waits;
  if (!event || info<cl_context>(clGetEventInfo, "clGetEventInfo", event, CL_EVENT_CONTEXT) != native.context.get())
    return relay(native, point);
  timeline->flush();
  return Handle<cl_event>::retain(event, "handing an event on");
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
