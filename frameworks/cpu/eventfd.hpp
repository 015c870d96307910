// SPDX-License-Identifier: Apache-2.0
// Points and eventfds: a counter of the kernel as a point, and a point as a descriptor that an event loop can poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// One eventfd; its only point is 1, reached when the counter is not 0. The counter is not read. A point that was seen
/// as reached stays reached, so the owner may then read the eventfd and use it anew.
/// @thread all members from any thread.
class EventFdTimeline final : public Timeline {
 public:
  /// Takes `fd` over on success only. @errors kInvalidArgument: closed, or no eventfd.
  static Ref<EventFdTimeline> import(UniqueFd&& fd);

  std::string_view name() const override;
  PointState query(std::uint64_t point) const override;
  /// @errors kDeadlineExceeded
  void wait(std::uint64_t point, Deadline deadline) const override;

 private:
  EventFdTimeline() = default;
  bool poll_until(Deadline deadline) const;

  UniqueFd fd_;
  mutable std::atomic<bool> reached_{false};
};

/// The point at which an eventfd is written. Takes `fd` over on success only; pass UniqueFd::duplicate() to keep yours.
/// @errors as EventFdTimeline::import.
TimelinePoint point_of_eventfd(UniqueFd&& fd);

/// An eventfd for an event loop: it becomes readable when `point` is reached, or failed. An eventfd carries no failure:
/// ask point.state(), or call point.wait(), which then does not block and raises it. Close it whenever you like.
/// @errors kResourceExhausted: no descriptor left. @thread any. @cost two descriptors; the point is looked at as defer()
/// says.
UniqueFd eventfd_of(const TimelinePoint& point);

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
