// SPDX-License-Identifier: Apache-2.0
// The two lists of a memory, and points that are joined when a list is full.
#include <tenon/core/hazards.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <tenon/core/free_list.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// "After all of these." Its point is 1; it fails with the first of them that failed. Objects come from a free list: a
/// producer that stays ahead of the device fills lists again and again, and that is a steady state.
class JoinedTimeline final : public Timeline {
 public:
  /// @param ordered  is_ordered_at_start() of all that will be added.
  static Ref<JoinedTimeline> make(bool ordered) {
    JoinedTimeline* joined = FreeList<JoinedTimeline>::instance().take();
    joined->ordered_ = ordered;
    return Ref<JoinedTimeline>(joined);
  }
  /// Call before the timeline is shared. If `point` is joined itself, its unreached points are added instead: a chain
  /// of joined timelines would grow as long as the device is never idle.
  void add(const TimelinePoint& point) {
    const auto* joined = dynamic_cast<const JoinedTimeline*>(point.timeline().get());
    if (!joined) return points_.push_back(point);
    for (const TimelinePoint& inner : joined->points_)
      if (inner.needs_wait()) points_.push_back(inner);
  }
  std::string_view name() const override { return "joined"; }
  bool is_ordered_at_start() const override { return ordered_; }
  PointState query(std::uint64_t) const override {
    PointState worst = PointState::kReached;
    // The latest first: it usually ends last.
    for (auto point = points_.rbegin(); point != points_.rend(); ++point) {
      const PointState state = point->state();
      if (state == PointState::kPending) return state;
      if (state == PointState::kFailed) worst = state;
    }
    return worst;
  }
  void wait(std::uint64_t, Deadline deadline) const override {
    for (const TimelinePoint& point : points_) point.timeline()->wait(point.value(), deadline);
  }

 protected:
  void dispose() noexcept override {
    points_.clear();
    if (points_.capacity() > kMaxKept) points_ = {};
    FreeList<JoinedTimeline>::instance().give_back(this);
  }

 private:
  friend class FreeList<JoinedTimeline>;
  static constexpr std::size_t kMaxKept = 1024;
  std::vector<TimelinePoint> points_;
  bool ordered_ = false;
  JoinedTimeline* next_ = nullptr;
};

inline int& ordered_work() {
  static thread_local int depth = 0;
  return depth;
}
/// Whether the work of this thread has nothing to do with `point`: see OrderedWork.
inline bool is_ordered(const TimelinePoint& point) {
  return ordered_work() != 0 && point.timeline()->is_ordered_at_start();
}
inline bool is_settled(const TimelinePoint& point) { return point.state() != PointState::kPending; }
/// Whether `earlier` is on the timeline of `later`, not after it.
inline bool is_before(const TimelinePoint& earlier, const TimelinePoint& later) {
  return later.timeline() && earlier.timeline() == later.timeline() && earlier.value() <= later.value();
}

}  // namespace detail

template <typename Gone>
void Hazards::List::take_out(Points& out, Gone gone) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (gone(work[i]))
      out.add(std::move(work[i].point));
    else if (kept++ != i)
      work[kept - 1] = std::move(work[i]);
  }
  size = kept;
}

TENON_INLINE void Hazards::List::add(Work added) {
  if (size == work.size()) {
    const auto full = std::exchange(work, {});
    size = 0;
    // Only points of the same kind are joined: an inference must not wait for others through a joined point.
    for (const bool ordered : {false, true}) {
      for (const bool replaced : {false, true}) {
        Ref<detail::JoinedTimeline> joined;
        WrittenBytes bytes{SIZE_MAX, 0, false};
        for (const Work& each : full) {
          if (each.point.timeline()->is_ordered_at_start() != ordered || each.replaced != replaced) continue;
          if (!joined) joined = detail::JoinedTimeline::make(ordered);
          joined->add(each.point);
          bytes.begin = std::min(bytes.begin, each.bytes.begin);
          bytes.end = std::max(bytes.end, each.bytes.end);
        }
        if (joined) work[size++] = {TimelinePoint(joined, 1), bytes, replaced};
      }
    }
  }
  work[size++] = std::move(added);
}

TENON_INLINE void Hazards::Points::wait(std::size_t i, Access access, Deadline deadline, Ledger* ledger) const {
  const TimelinePoint& point = points_[i];
  try {
    point.wait(deadline, ledger);
  } catch (...) {
    // Only the failure of the work itself is passed over, not one of the wait.
    const bool concerns = i < writers_ && covers(access, Access::kRead);
    if (concerns || point.state() != PointState::kFailed) throw;
  }
}

TENON_INLINE Hazards::Points Hazards::pending(Access access) const {
  Points pending, settled;  // Settled points are destroyed after the lock is released: the last reference calls a
                            // driver.
  if (!has_points()) return pending;
  std::lock_guard lock(mutex_);
  writers_.take_out(settled, [](const Work& writer) {
    return writer.replaced ? detail::is_settled(writer.point) : writer.point.state() == PointState::kReached;
  });
  readers_.take_out(settled, [](const Work& reader) { return detail::is_settled(reader.point); });
  counted();
  list(access, pending);
  return pending;
}

TENON_INLINE void Hazards::list(Access access, Points& pending) const {
  const auto add = [&](const List& list, bool replaced, auto wanted) {
    for (std::size_t i = 0; i < list.size; ++i) {
      const Work& work = list.work[i];
      if (work.replaced == replaced && !detail::is_ordered(work.point) && wanted(work.point)) pending.add(work.point);
    }
  };
  const auto running = [](const TimelinePoint& point) { return !detail::is_settled(point); };
  const bool reads = covers(access, Access::kRead);
  add(writers_, false, [&](const TimelinePoint& writer) { return reads || running(writer); });
  pending.writers_ = pending.size_;
  add(writers_, true, running);
  if (writes(access)) add(readers_, false, [](const TimelinePoint&) { return true; });
}

TENON_INLINE Hazards::Points Hazards::begin(Access access, const TimelinePoint& point, const WrittenBytes& bytes) {
  Points pending, settled;
  std::lock_guard lock(mutex_);
  take_settled(settled, point, bytes, access == Access::kWrite);
  list(access, pending);
  if (writes(access)) {
    for (std::size_t i = 0; access == Access::kWrite && i < writers_.size; ++i) {
      Work& earlier = writers_.work[i];
      earlier.replaced = earlier.replaced || bytes.replaces(earlier.bytes);
    }
    writers_.add({point, bytes});
  } else {
    readers_.add({point, {}});
  }
  counted();
  return pending;
}

TENON_INLINE void Hazards::take_settled(Points& settled, const TimelinePoint& point, const WrittenBytes& bytes,
                                        bool writes) {
  if (writers_.size != 0) {
    writers_.take_out(settled, [&](const Work& writer) {
      const PointState state = writer.point.state();
      if (state == PointState::kReached || (writer.replaced && state == PointState::kFailed)) return true;
      return writes && bytes.replaces(writer.bytes) &&
             (state == PointState::kFailed || detail::is_before(writer.point, point));
    });
  }
  if (readers_.size != 0) {
    readers_.take_out(settled, [&](const Work& reader) {
      return detail::is_before(reader.point, point) || detail::is_settled(reader.point);
    });
  }
}

TENON_INLINE void Hazards::wrote(TimelinePoint point, const WrittenBytes& bytes) {
  Points settled;
  std::lock_guard lock(mutex_);
  take_settled(settled, point, bytes, true);
  if (point.needs_wait()) writers_.add({std::move(point), bytes});
  counted();
}

TENON_INLINE void Hazards::read_until(TimelinePoint point) {
  Points settled;
  std::lock_guard lock(mutex_);
  take_settled(settled, point, {}, false);
  if (!detail::is_settled(point)) readers_.add({std::move(point), {}});
  counted();
}

TENON_INLINE void Hazards::forget_failures() {
  if (!has_points()) return;
  Points settled;
  std::lock_guard lock(mutex_);
  writers_.take_out(settled, [](const Work& writer) { return detail::is_settled(writer.point); });
  counted();
}

TENON_INLINE bool Hazards::busy() const noexcept {
  if (!has_points()) return false;
  return !pending(Access::kWrite).empty();
}

TENON_INLINE OrderedWork::OrderedWork() { ++detail::ordered_work(); }
TENON_INLINE OrderedWork::~OrderedWork() { --detail::ordered_work(); }

}  // namespace v1
}  // namespace tenon
