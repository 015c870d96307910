// SPDX-License-Identifier: Apache-2.0
// CUevent as a timeline point, and streams that wait for points of any API.
#pragma once

#include <string_view>

#include <tenon/core/event_timeline.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cuda/device.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// One recorded event; its only point is 1. Events of ours come from the context's shelf.
/// @thread all members from any thread.
class EventTimeline final : public EventTimelineBase<EventTimeline> {
 public:
  /// @param is_ours  The event goes back to the shelf afterwards; else it is a user's, and is kept until the point is reached.
  static Ref<EventTimeline> over(Ref<detail::Native> native, abi::Event event, bool is_ours);
  std::string_view name() const override { return "cuda.event"; }
  abi::Event event() const { return event_; }

 private:
  friend class FreeList<EventTimeline>;
  friend class EventTimelineBase<EventTimeline>;
  EventTimeline() = default;
  ~EventTimeline() override = default;

  PointState ask() const noexcept;
  /// Polls at growing intervals: cuEventSynchronize has no deadline.
  /// @errors kAborted: the work before it failed; kDeadlineExceeded; other errors of the query.
  void await(Deadline deadline) const;
  void drop() noexcept;
  abi::Result query_event() const noexcept;

  Ref<detail::Native> native_;
  abi::Event event_ = nullptr;
  bool is_ours_ = false;
};

namespace detail {

/// The point at which all work now in `stream` is done. @errors those of native calls.
TimelinePoint record(const Ref<Native>& native, abi::Stream stream);
void keep_until(const TimelinePoint& point, Ref<RefCounted> kept);

/// Makes later work in `stream` wait for `point`: by its event, or by a word that the host sets. False where the driver
/// has no word left: the host must wait. @errors those of native calls; the failure of a point that has failed.
bool make_wait(const Ref<Native>& native, abi::Stream stream, const TimelinePoint& point);

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
