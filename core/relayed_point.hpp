// SPDX-License-Identifier: Apache-2.0
// Relays points of any timeline to signals of another API: a user event, a ze_event, an eventfd.
#pragma once

#include <utility>

#include <tenon/core/deferred.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/timeline.hpp>

namespace tenon {
inline namespace v1 {

/// Sets a signal of another API when a point is settled, so that work of that API can wait without a host wait.
/// @tparam Signal  Movable, empty when default-constructed. signal.set(failed) is called once, on a thread of Tenon's
/// own: it must neither wait nor throw.
template <typename Signal>
class RelayedPoint final : private Deferred {
 public:
  /// Takes ownership of `signal`. @thread any. @cost as defer(); objects come from a free list.
  static void relay(const TimelinePoint& point, Signal signal) {
    RelayedPoint* const relayed = FreeList<RelayedPoint>::instance().take();
    relayed->point_ = point;
    relayed->signal_ = std::move(signal);
    defer(*relayed);
  }

 private:
  friend class FreeList<RelayedPoint>;
  bool is_ready() noexcept override { return point_.state() != PointState::kPending; }
  void finish() noexcept override {
    const TimelinePoint point = std::exchange(point_, {});
    Signal signal = std::exchange(signal_, {});
    FreeList<RelayedPoint>::instance().give_back(this);
    signal.set(point.state() == PointState::kFailed);
  }

  TimelinePoint point_;
  Signal signal_;
  RelayedPoint* next_ = nullptr;
};

}  // namespace v1
}  // namespace tenon
