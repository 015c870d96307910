// SPDX-License-Identifier: Apache-2.0
// Points and eventfds: a counter of the kernel as a point, and a point as a descriptor that an event loop can poll.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {
namespace detail {

/// Whether `fd` is an eventfd. False for a closed one, and where /proc is missing.
inline bool is_eventfd(int fd) {
  char target[64] = {};
  const auto size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1);
  return size > 0 && std::string_view(target) == "anon_inode:[eventfd]";
}

}  // namespace detail

/// One eventfd; its only point is 1, reached when the counter is not 0. The counter is not read. A point that was seen
/// as reached stays reached, so the owner may then read the eventfd and use it anew.
/// @thread all members from any thread.
class EventFdTimeline final : public Timeline {
 public:
  /// Takes `fd` over on success only. @errors kInvalidArgument: closed, or no eventfd.
  static Ref<EventFdTimeline> import(UniqueFd&& fd) {
    if (!detail::is_eventfd(fd.get()))
      throw Error(Code::kInvalidArgument, "cpu: descriptor " + std::to_string(fd.get()) + " is no open eventfd");
    Ref<EventFdTimeline> made(new EventFdTimeline);
    made->fd_ = std::move(fd);
    return made;
  }

  std::string_view name() const override { return "eventfd"; }
  PointState query(std::uint64_t) const override {
    return poll_until(Deadline::min()) ? PointState::kReached : PointState::kPending;
  }
  /// @errors kDeadlineExceeded
  void wait(std::uint64_t, Deadline deadline) const override {
    if (!poll_until(deadline))
      throw Error(Code::kDeadlineExceeded,
                  "cpu: eventfd " + std::to_string(fd_.get()) + " was not written in time; its writer is late or gone");
  }

 private:
  EventFdTimeline() = default;
  bool poll_until(Deadline deadline) const {
    if (reached_.load(std::memory_order_acquire)) return true;
    if (!cpu::poll_until(deadline, fd_.get(), POLLIN)) return false;
    reached_.store(true, std::memory_order_release);
    return true;
  }

  UniqueFd fd_;
  mutable std::atomic<bool> reached_{false};
};

/// The point at which somebody writes to an eventfd. Takes `fd` over on success only; who wants to keep his passes
/// UniqueFd::duplicate(). @errors as EventFdTimeline::import.
inline TimelinePoint point_of_eventfd(UniqueFd&& fd) {
  return TimelinePoint(EventFdTimeline::import(std::move(fd)), 1);
}

namespace detail {

/// An eventfd as the signal of a RelayedPoint.
struct EventFdSignal {
  UniqueFd fd;
  void set(bool /*failed*/) noexcept {
    (void)::eventfd_write(fd.get(), 1);  // Fails only if the counter is full, and then the descriptor is readable.
  }
};

}  // namespace detail

/// An eventfd for an event loop: it becomes readable when `point` is reached, or failed. An eventfd carries no failure:
/// ask point.state(), or call point.wait(), which then does not block and raises it. Close it whenever you like.
/// @errors kResourceExhausted: no descriptor left. @thread any. @cost two descriptors; the point is looked at as defer()
/// says.
inline UniqueFd eventfd_of(const TimelinePoint& point) {
  UniqueFd made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made)
    throw Error(Code::kResourceExhausted, "cpu: no eventfd for a point: no descriptor is left", "eventfd", errno);
  if (point.state() == PointState::kPending) {
    RelayedPoint<detail::EventFdSignal>::relay(point, {made.duplicate()});
  } else {
    (void)::eventfd_write(made.get(), 1);
  }
  return made;
}

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
