// SPDX-License-Identifier: Apache-2.0
// What timelines over one event of an API share: a point that stays reached, and objects that are used again.
#pragma once

#include <atomic>
#include <cstdint>

#include <tenon/core/free_list.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>

namespace tenon {
inline namespace v1 {

/// Timeline of one event, whose only point is 1. A reached point stays reached without another native call. Objects come
/// from a free list: in the steady state a point allocates nothing.
/// @tparam Derived  Final, befriends this and FreeList<Derived>, and has: `PointState ask() const noexcept`, one query of
/// the event, kFailed where it cannot be queried; `void await(Deadline) const`, which returns when the event is complete
/// and throws kDeadlineExceeded or what the work left; `void drop() noexcept`, which releases what it holds.
/// @thread all members from any thread.
template <typename Derived>
class EventTimelineBase : public Timeline {
 public:
  /// Never throws: an event that cannot be queried counts as failed, and wait() gives the reason.
  PointState query(std::uint64_t) const final {
    if (reached_.load(std::memory_order_acquire)) return PointState::kReached;
    const PointState state = self().ask();
    if (state == PointState::kReached) reached_.store(true, std::memory_order_release);
    return state;
  }
  /// @errors as Derived::await().
  void wait(std::uint64_t, Deadline deadline) const final {
    if (reached_.load(std::memory_order_acquire)) return;
    self().await(deadline);
    reached_.store(true, std::memory_order_release);
  }

 protected:
  EventTimelineBase() = default;
  /// An idle or a new object, whose point is not reached.
  static Ref<Derived> take() {
    Derived* const timeline = FreeList<Derived>::instance().take();
    timeline->reached_.store(false, std::memory_order_relaxed);
    return Ref<Derived>(timeline);
  }
  void dispose() noexcept final {
    auto* const timeline = static_cast<Derived*>(this);
    timeline->drop();
    FreeList<Derived>::instance().give_back(timeline);
  }

  Derived* next_ = nullptr;  ///< In the free list.

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }

  mutable std::atomic<bool> reached_{false};
};

}  // namespace v1
}  // namespace tenon
