// SPDX-License-Identifier: Apache-2.0
// cl_event as a timeline point: queried, waited for with a deadline, failures raised.
#pragma once

#include <string_view>

#include <tenon/core/event_timeline.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// One event; its only point is 1. @thread all members from any thread.
class EventTimeline final : public EventTimelineBase<EventTimeline> {
 public:
  /// Takes over the reference.
  static Ref<EventTimeline> over(detail::Handle<cl_event> event);
  std::string_view name() const override { return "opencl.event"; }
  cl_event event() const { return event_.get(); }

  /// A command in an unflushed queue would never start. User events have no queue.
  void flush() const;

 private:
  friend class FreeList<EventTimeline>;
  friend class EventTimelineBase<EventTimeline>;
  EventTimeline() = default;
  ~EventTimeline() override = default;

  PointState ask() const noexcept;
  /// Flushes the event's queue, then polls at growing intervals: clWaitForEvents has no deadline, and events of some
  /// drivers never call back once their context has failed.
  /// @errors kAborted with the event's own code when its command failed; kDeadlineExceeded; errors of a query.
  void await(Deadline deadline) const;
  void drop() noexcept { event_.reset(); }

  detail::Handle<cl_event> event_;
};

/// The point at which `event` is complete. Adds a reference to the event.
/// @errors kInvalidArgument: a null event, or one that the driver does not know.
TimelinePoint point(cl_event event);

namespace detail {

/// Waits for one of our commands and releases its event.
void finish(Handle<cl_event> event, Deadline deadline);

/// Keeps what a command reads or writes alive until it finishes. A thread of Tenon's waits for that where the platform takes no
/// callback (Wine's refuses all); where that fails too, it is never freed.
void keep_until(cl_event event, const Ref<RefCounted>& what) noexcept;

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
