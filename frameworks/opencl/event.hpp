// SPDX-License-Identifier: Apache-2.0
// cl_event as a timeline point: queried, waited for with a deadline, failures raised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// One event; its only point is 1. Objects come from a free list: in the steady state a point allocates nothing.
/// @thread all members from any thread.
class EventTimeline final : public Timeline {
 public:
  /// Takes over the reference.
  static Ref<EventTimeline> over(detail::Handle<cl_event> event) {
    EventTimeline* timeline = FreeList<EventTimeline>::instance().take();
    timeline->event_ = std::move(event);
    return Ref<EventTimeline>(timeline);
  }

  std::string_view name() const override { return "opencl.event"; }
  cl_event event() const { return event_.get(); }

  /// Never throws: an event that cannot be queried counts as failed, and wait() gives the reason.
  PointState query(std::uint64_t) const override {
    cl_int status = CL_COMPLETE;
    if (clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) != CL_SUCCESS)
      return PointState::kFailed;
    return status < 0 ? PointState::kFailed : status == CL_COMPLETE ? PointState::kReached : PointState::kPending;
  }

  /// Flushes the event's queue, then polls at growing intervals: clWaitForEvents has no deadline, and events of some
  /// drivers never call back once their context has failed.
  /// @errors kAborted with the event's own code when its command failed; kDeadlineExceeded; errors of a query.
  void wait(std::uint64_t, Deadline deadline) const override {
    bool flushed = false;
    cl_int status = CL_QUEUED;
    const bool in_time = poll_until(deadline, [&] {
      status = execution_status();
      if (status < 0) {
        throw Error(Code::kAborted,
                    "opencl: the command behind an event failed: " + status_name(status) +
                        "; what it was to write is undefined",
                    "CL_EVENT_COMMAND_EXECUTION_STATUS", status);
      }
      if (status != CL_COMPLETE && !std::exchange(flushed, true)) flush();
      return status == CL_COMPLETE;
    });
    if (!in_time)
      throw Error(Code::kDeadlineExceeded, "opencl: an event was not complete in time (" +
                                               std::string(status_text(status)) +
                                               "); the command is late, or waits for a user event that nobody sets");
  }

  /// A command in an unflushed queue would never start. User events have no queue.
  void flush() const {
    const auto queue =
        detail::info<cl_command_queue>(clGetEventInfo, "clGetEventInfo", event_.get(), CL_EVENT_COMMAND_QUEUE);
    if (queue) detail::check(detail::call(clFlush, queue), "clFlush", "before waiting for an event");
  }

 protected:
  void dispose() noexcept override {
    event_.reset();
    FreeList<EventTimeline>::instance().give_back(this);
  }

 private:
  friend class FreeList<EventTimeline>;
  cl_int execution_status() const {
    return detail::info<cl_int>(clGetEventInfo, "clGetEventInfo", event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS);
  }
  static std::string_view status_text(cl_int status) {
    return status == CL_QUEUED ? "queued" : status == CL_SUBMITTED ? "submitted" : "running";
  }
  detail::Handle<cl_event> event_;
  EventTimeline* next_ = nullptr;
};

/// The point at which `event` is complete. Adds a reference to the event.
/// @errors kInvalidArgument: a null event, or one that the driver does not know.
inline TimelinePoint point(cl_event event) {
  if (!event) throw Error(Code::kInvalidArgument, "opencl::point: a null cl_event; TimelinePoint::ready() needs none");
  return TimelinePoint(EventTimeline::over(detail::Handle<cl_event>::retain(event, "a user's event")), 1);
}

namespace detail {

/// Waits for one of our commands and releases its event.
inline void finish(Handle<cl_event> event, Deadline deadline) {
  EventTimeline::over(std::move(event))->wait(1, deadline);
}

/// Keeps what a command reads or writes alive until it finishes. If the driver rejects the callback, it is never freed.
inline void keep_until(cl_event event, const Ref<RefCounted>& what) noexcept {
  what->add_ref();
  clSetEventCallback(
      event, CL_COMPLETE, [](cl_event, cl_int, void* kept) { static_cast<RefCounted*>(kept)->release(); }, what.get());
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
