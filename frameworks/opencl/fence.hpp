// SPDX-License-Identifier: Apache-2.0
// Points of any timeline as cl_events, so that queues wait instead of the host.
#pragma once

#include <string>
#include <utility>

#include <tenon/core/deferred.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

/// An event that completes with all work now in `queue`; flushed.
inline Handle<cl_event> marker(cl_command_queue queue) {
  cl_event event = nullptr;
  check(call(clEnqueueMarkerWithWaitList, queue, cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueMarkerWithWaitList", "marking what was enqueued");
  Handle<cl_event> made(event);
  check(call(clFlush, queue), "clFlush", "marking what was enqueued");
  return made;
}

/// A user event that is set when a point of another timeline is reached, or failed: commands that wait for it then fail
/// too. Objects come from a free list.
class RelayedPoint final : public Deferred {
 public:
  static Handle<cl_event> relay(const Native& native, const TimelinePoint& point) {
    Handle<cl_event> event(create(
        "clCreateUserEvent", [] { return std::string("an event for a point of another API"); }, clCreateUserEvent,
        native.context.get()));
    RelayedPoint* relayed = FreeList<RelayedPoint>::instance().take();
    relayed->event_ = Handle<cl_event>::retain(event.get(), "an event for a point of another API");
    relayed->point_ = point;
    defer(*relayed);
    return event;
  }

 private:
  friend class FreeList<RelayedPoint>;
  bool is_ready() noexcept override { return point_.state() != PointState::kPending; }
  void finish() noexcept override {
    const bool failed = point_.state() == PointState::kFailed;
    clSetUserEventStatus(event_.get(), failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE);
    event_.reset();
    point_ = {};
    FreeList<RelayedPoint>::instance().give_back(this);
  }

  Handle<cl_event> event_;
  TimelinePoint point_;
  RelayedPoint* next_ = nullptr;
};

/// `point` as an event that commands of this cl_context can wait for. Its own event, if it is one of this cl_context;
/// its queue is flushed, since a queue that waits for an unflushed one would wait for ever.
inline Handle<cl_event> event_for(const Native& native, const TimelinePoint& point) {
  const auto* timeline = dynamic_cast<const EventTimeline*>(point.timeline().get());
  const cl_event event = timeline ? timeline->event() : nullptr;
  if (!event || info<cl_context>(clGetEventInfo, "clGetEventInfo", event, CL_EVENT_CONTEXT) != native.context.get())
    return RelayedPoint::relay(native, point);
  timeline->flush();
  return Handle<cl_event>::retain(event, "handing an event on");
}

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
