// SPDX-License-Identifier: Apache-2.0
// sycl::event as a timeline point, and sycl::queue as a stream.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include <tenon/core/event_timeline.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/sycl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

/// One event; its only point is 1. @thread all members from any thread.
class EventTimeline final : public EventTimelineBase<EventTimeline> {
 public:
  static Ref<EventTimeline> over(::sycl::event event);
  std::string_view name() const override { return "sycl.event"; }
  const ::sycl::event& event() const { return *event_; }

 private:
  friend class FreeList<EventTimeline>;
  friend class EventTimelineBase<EventTimeline>;
  EventTimeline() = default;
  ~EventTimeline() override = default;

  PointState ask() const noexcept;
  /// Polls at growing intervals: sycl::event::wait has no deadline. @errors kDeadlineExceeded; those of the query.
  void await(Deadline deadline) const;
  void drop() noexcept { event_.reset(); }
  bool is_complete() const;

  std::optional<::sycl::event> event_;
};

/// The point at which `event` is complete; shares it.
TimelinePoint point(::sycl::event event);

namespace detail {

/// The event behind a point; null for points of other APIs, which SYCL cannot wait for.
const ::sycl::event* event_of(const TimelinePoint& point);

}  // namespace detail

/// A user's queue as a stream: MapOptions::stream makes it wait for SYCL's work on what is mapped; for work of other APIs
/// the host waits, as SYCL has no events that a host sets.
class QueueStream final : public Stream {
 public:
  explicit QueueStream(::sycl::queue queue) : queue_(std::move(queue)) {}
  std::string_view name() const override { return "sycl.queue"; }
  bool wait_for(const TimelinePoint& point) override;
  TimelinePoint signal() override;

 private:
  ::sycl::queue queue_;
};

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
