// SPDX-License-Identifier: Apache-2.0
// Hazards: the unfinished work on one allocation, and the order of later work after it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/timeline.hpp>

namespace tenon {
inline namespace v1 {

class Ledger;
class Memory;
namespace detail {
class IdentityTable;
}

/// The bytes of an allocation that a write replaces; the default is all of them.
struct WrittenBytes {
  std::size_t begin = 0, end = SIZE_MAX;
  bool dense = true;  ///< Without gaps.
  /// Whether a write of these bytes leaves nothing of an earlier write of `other`.
  bool replaces(const WrittenBytes& other) const {
    return begin <= other.begin && other.end <= end && (dense || (begin == other.begin && end == other.end));
  }
};

/// Unfinished work on one allocation: writers and readers that are not known to be ordered after one another. Shared by
/// all tensors and views over it, so that two tensors over one allocation see one state. Points that were reached are
/// forgotten. A failed writer stays until its bytes are written again, so that every reader gets the first cause.
/// Bounded: when a list is full, its points are joined into one.
/// @thread all members from any thread. @cost has_points(): one load. The others take a lock, and allocate nothing
/// until a list is full.
class TENON_API Hazards final {
 public:
  static constexpr std::size_t kMaxPoints = 8;
  /// Points in a list of fixed size, writers first; a value.
  class TENON_API Points {
   public:
    const TimelinePoint* begin() const { return points_.data(); }
    const TimelinePoint* end() const { return points_.data() + size_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const TimelinePoint& operator[](std::size_t i) const { return points_[i]; }
    /// Waits for all points except those for which `take` returns true, because a queue waits for them. `take` is not
    /// called for points that have failed. A reader's failure is ignored; a writer's failure is thrown if the access
    /// reads.
    /// @errors kDeadlineExceeded; the failure that a point carries.
    template <typename Take>
    void wait_for(Access access, Deadline deadline, Ledger* ledger, Take take) const {
      for (std::size_t i = 0; i < size_; ++i) {
        if (points_[i].state() == PointState::kFailed || !take(points_[i])) wait(i, access, deadline, ledger);
      }
    }

   private:
    void wait(std::size_t i, Access access, Deadline deadline, Ledger* ledger) const;

    friend class Hazards;
    void add(TimelinePoint point) { points_[size_++] = std::move(point); }
    std::array<TimelinePoint, 2 * kMaxPoints> points_;
    std::size_t size_ = 0, writers_ = 0;
  };

  /// False when there is nothing to wait for and no failure to report.
  bool has_points() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
  /// The points that `access` must wait for: writers, and for writing also readers. Points that were reached are left
  /// out. A failed writer is included if `access` reads.
  Points pending(Access access) const;
  /// Notes work that begins now and ends at `point`, and returns the points that it must wait for before it accesses
  /// the bytes.
  /// @param bytes  Written, if `access` writes.
  Points begin(Access access, const TimelinePoint& point, const WrittenBytes& bytes = {});
  /// Notes a write that ends at `point`. Earlier work stays noted until it is finished, because `point` may come first.
  void wrote(TimelinePoint point, const WrittenBytes& bytes = {});
  /// Notes a read that ends at `point`.
  void read_until(TimelinePoint point);
  /// The bytes from before do not matter any more (a buffer is used anew): forgets writers that failed.
  void forget_failures();
  /// Waits until `access` is safe for the host and books waits that block in `ledger`; null: the process ledger.
  /// Failures of readers are ignored; failures of writers are ignored if `access` only writes.
  /// @errors kDeadlineExceeded, or the failure of the first writer that failed, if `access` reads.
  void wait_for(Access access, Deadline deadline, Ledger* ledger = nullptr) {
    if (has_points()) wait_for(access, deadline, ledger, [](const TimelinePoint&) { return false; });
  }
  /// As above, except for points that `take` takes over: see Points::wait_for.
  template <typename Take>
  void wait_for(Access access, Deadline deadline, Ledger* ledger, Take take) {
    if (has_points()) pending(access).wait_for(access, deadline, ledger, take);
  }
  /// Whether any noted work is still running.
  bool busy() const noexcept;

 private:
  friend class Memory;
  friend class detail::IdentityTable;
  struct Work {
    TimelinePoint point;
    WrittenBytes bytes;  ///< For writers only.
    /// A later writer waits for this one and replaces its bytes. This one must end before others write, but its failure
    /// does not matter any more.
    bool replaced = false;
  };
  /// One of the two lists. Guarded by mutex_.
  struct List {
    std::array<Work, kMaxPoints> work;
    std::size_t size = 0;
    /// Takes out work for which `gone` holds; its points are destroyed by the caller, without the lock.
    template <typename Gone>
    void take_out(Points& out, Gone gone);
    void add(Work added);
  };
  void list(Access access, Points& pending) const;
  /// Removes the entries that `point` makes superfluous. @param writes  Whether it ends a write of `bytes` that reads
  /// none of them.
  void take_settled(Points& settled, const TimelinePoint& point, const WrittenBytes& bytes, bool writes);
  void counted() const noexcept { count_.store(writers_.size + readers_.size, std::memory_order_release); }

  mutable std::mutex mutex_;
  mutable List writers_, readers_;
  mutable std::atomic<std::size_t> count_{0};
  std::atomic<std::uint32_t> users_{1};  ///< Memories over one allocation share it.
};

/// While an object of this class exists, its thread does work that was ordered when it was noted. Hazards then leave
/// out all points of such work (Timeline::is_ordered_at_start): work noted earlier has been waited for, and work noted
/// later waits for this.
class TENON_API OrderedWork {
 public:
  OrderedWork();
  ~OrderedWork();
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;
};

}  // namespace v1
}  // namespace tenon
