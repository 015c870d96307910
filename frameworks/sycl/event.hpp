// SPDX-License-Identifier: Apache-2.0
// sycl::event as a timeline point, and sycl::queue as a stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/sycl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

/// One event; its only point is 1. Timelines come from a free list. @thread all members from any thread.
class EventTimeline final : public Timeline {
 public:
  static Ref<EventTimeline> over(::sycl::event event) {
    EventTimeline* const timeline = FreeList<EventTimeline>::instance().take();
    timeline->event_ = std::move(event);
    return Ref<EventTimeline>(timeline);
  }
  std::string_view name() const override { return "sycl.event"; }
  const ::sycl::event& event() const { return *event_; }

  /// Never throws: an event that cannot be queried counts as failed, and wait() gives the reason.
  PointState query(std::uint64_t) const override {
    try {
      return is_complete() ? PointState::kReached : PointState::kPending;
    } catch (const ::sycl::exception&) {
      return PointState::kFailed;
    }
  }
  /// Polls at growing intervals: sycl::event::wait has no deadline.
  /// @errors kDeadlineExceeded; those of the query.
  void wait(std::uint64_t, Deadline deadline) const override {
    const bool in_time = poll_until(deadline, [&] {
      return detail::checked("sycl::event::get_info", "asking whether a command is complete",
                             [&] { return is_complete(); });
    });
    if (!in_time)
      throw Error(Code::kDeadlineExceeded,
                  "sycl: an event was not complete in time; its command is late, or depends on one that never ends");
  }

 protected:
  void dispose() noexcept override {
    event_.reset();
    FreeList<EventTimeline>::instance().give_back(this);
  }

 private:
  friend class FreeList<EventTimeline>;
  EventTimeline() = default;
  ~EventTimeline() override = default;
  bool is_complete() const {
    return event_->get_info<::sycl::info::event::command_execution_status>() ==
           ::sycl::info::event_command_status::complete;
  }

  std::optional<::sycl::event> event_;
  EventTimeline* next_ = nullptr;
};

/// The point at which `event` is complete; shares it.
inline TimelinePoint point(::sycl::event event) { return TimelinePoint(EventTimeline::over(std::move(event)), 1); }

namespace detail {

/// The event behind a point; null for points of other APIs, which SYCL cannot wait for.
inline const ::sycl::event* event_of(const TimelinePoint& point) {
  const auto* timeline = dynamic_cast<const EventTimeline*>(point.timeline().get());
  return timeline ? &timeline->event() : nullptr;
}

}  // namespace detail

/// A user's queue as a stream: MapOptions::stream makes it wait for SYCL's work on what is mapped; for work of other APIs
/// the host waits, as SYCL has no events that a host sets.
class QueueStream final : public Stream {
 public:
  explicit QueueStream(::sycl::queue queue) : queue_(std::move(queue)) {}
  std::string_view name() const override { return "sycl.queue"; }
  bool wait_for(const TimelinePoint& point) override {
    const ::sycl::event* const event = detail::event_of(point);
    if (!event) return false;
    detail::checked("sycl::queue::ext_oneapi_submit_barrier", "making a queue wait for a tensor's memory", [&] {
      queue_.ext_oneapi_submit_barrier({*event});
      return 0;
    });
    return true;
  }
  TimelinePoint signal() override {
    return point(detail::checked("sycl::queue::ext_oneapi_submit_barrier", "marking what was submitted",
                                 [&] { return queue_.ext_oneapi_submit_barrier(); }));
  }

 private:
  ::sycl::queue queue_;
};

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
