// SPDX-License-Identifier: Apache-2.0
// Waits for eventfds, and points that write to them.
#include <tenon/frameworks/cpu/eventfd.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/relayed_point.hpp>
#include <tenon/frameworks/cpu/posix/poll.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {
namespace detail {

/// Whether `fd` is an eventfd. False for a closed one, and where /proc is missing.
TENON_INLINE bool is_eventfd(int fd) {
  char target[64] = {};
  const auto size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1);
  return size > 0 && std::string_view(target) == "anon_inode:[eventfd]";
}

/// An eventfd as the signal of a RelayedPoint.
struct EventFdSignal {
  UniqueFd fd;
  void set(bool /*failed*/) noexcept {
    (void)::eventfd_write(fd.get(), 1);  // Fails only if the counter is full, and then the descriptor is readable.
  }
};

}  // namespace detail

TENON_INLINE Ref<EventFdTimeline> EventFdTimeline::import(UniqueFd&& fd) {
  if (!detail::is_eventfd(fd.get()))
    throw Error(Code::kInvalidArgument, "cpu: descriptor " + std::to_string(fd.get()) + " is no open eventfd");
  Ref<EventFdTimeline> made(new EventFdTimeline);
  made->fd_ = std::move(fd);
  return made;
}

TENON_INLINE std::string_view EventFdTimeline::name() const { return "eventfd"; }

TENON_INLINE PointState EventFdTimeline::query(std::uint64_t) const {
  return poll_until(Deadline::min()) ? PointState::kReached : PointState::kPending;
}

TENON_INLINE void EventFdTimeline::wait(std::uint64_t, Deadline deadline) const {
  if (!poll_until(deadline))
    throw Error(Code::kDeadlineExceeded,
                "cpu: eventfd " + std::to_string(fd_.get()) + " was not written in time; its writer is late or gone");
}

TENON_INLINE bool EventFdTimeline::poll_until(Deadline deadline) const {
  if (reached_.load(std::memory_order_acquire)) return true;
  if (!cpu::poll_until(deadline, fd_.get(), POLLIN)) return false;
  reached_.store(true, std::memory_order_release);
  return true;
}

TENON_INLINE TimelinePoint point_of_eventfd(UniqueFd&& fd) {
  return TimelinePoint(EventFdTimeline::import(std::move(fd)), 1);
}

TENON_INLINE UniqueFd eventfd_of(const TimelinePoint& point) {
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
