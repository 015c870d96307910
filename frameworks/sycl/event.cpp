// SPDX-License-Identifier: Apache-2.0
// sycl::event as a timeline point, and sycl::queue as a stream.
#include <tenon/frameworks/sycl/event.hpp>

#include <sycl/sycl.hpp>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/frameworks/sycl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

TENON_INLINE Ref<EventTimeline> EventTimeline::over(::sycl::event event) {
  Ref<EventTimeline> timeline = take();
  timeline->event_ = std::move(event);
  return timeline;
}

TENON_INLINE PointState EventTimeline::ask() const noexcept {
  try {
    return is_complete() ? PointState::kReached : PointState::kPending;
  } catch (const ::sycl::exception&) {
    return PointState::kFailed;
  }
}

TENON_INLINE void EventTimeline::await(Deadline deadline) const {
  const bool in_time = poll_until(deadline, [&] {
    return detail::checked("sycl::event::get_info", "asking whether a command is complete",
                           [&] { return is_complete(); });
  });
  if (!in_time)
    throw Error(Code::kDeadlineExceeded,
                "sycl: an event was not complete in time; its command is late, or depends on one that never ends");
}

TENON_INLINE bool EventTimeline::is_complete() const {
  return event_->get_info<::sycl::info::event::command_execution_status>() ==
         ::sycl::info::event_command_status::complete;
}

TENON_INLINE TimelinePoint point(::sycl::event event) {
  return TimelinePoint(EventTimeline::over(std::move(event)), 1);
}

namespace detail {

TENON_INLINE const ::sycl::event* event_of(const TimelinePoint& point) {
  const auto* timeline = dynamic_cast<const EventTimeline*>(point.timeline().get());
  return timeline ? &timeline->event() : nullptr;
}

}  // namespace detail

TENON_INLINE bool QueueStream::wait_for(const TimelinePoint& point) {
  const ::sycl::event* const event = detail::event_of(point);
  if (!event) return false;
  detail::checked("sycl::queue::ext_oneapi_submit_barrier", "making a queue wait for a tensor's memory", [&] {
    queue_.ext_oneapi_submit_barrier({*event});
    return 0;
  });
  return true;
}

TENON_INLINE TimelinePoint QueueStream::signal() {
  return point(detail::checked("sycl::queue::ext_oneapi_submit_barrier", "marking what was submitted",
                               [&] { return queue_.ext_oneapi_submit_barrier(); }));
}

namespace detail {

TENON_INLINE Code code_of(const std::error_code& code) {
  if (code == ::sycl::errc::memory_allocation) return Code::kResourceExhausted;
  if (code == ::sycl::errc::invalid || code == ::sycl::errc::nd_range || code == ::sycl::errc::accessor)
    return Code::kInvalidArgument;
  if (code == ::sycl::errc::feature_not_supported || code == ::sycl::errc::backend_mismatch)
    return Code::kUnimplemented;
  if (code == ::sycl::errc::platform) return Code::kUnavailable;
  return Code::kInternal;
}

}  // namespace detail
}  // namespace sycl
}  // namespace v1
}  // namespace tenon
