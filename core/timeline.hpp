// SPDX-License-Identifier: Apache-2.0
// Timelines and points on them: Tenon's only synchronisation primitive.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>

namespace tenon {
inline namespace v1 {

class Ledger;

enum class PointState : std::uint8_t { kPending, kReached, kFailed };

/// A monotonic counter advanced by work. Frameworks adapt their events to it (cl_event, ze_event, sync_file).
/// @thread all members from any thread.
class TENON_API Timeline : public RefCounted {
 public:
  virtual std::string_view name() const = 0;
  /// Whether the work of this timeline is ordered when it is noted (Hazards::begin): it waits for work noted earlier,
  /// and work noted later waits for it. See OrderedWork.
  virtual bool is_ordered_at_start() const { return false; }
  virtual PointState query(std::uint64_t value) const = 0;
  /// Blocks until `value` is reached. @errors kDeadlineExceeded, or the error that the work left in the timeline.
  virtual void wait(std::uint64_t value, Deadline deadline) const = 0;
};

/// "After `value` of this timeline." A value; copying costs a reference count and allocates nothing.
class TimelinePoint {
 public:
  /// Nothing to wait for: the same as a default-constructed point.
  static TimelinePoint ready() { return {}; }
  TimelinePoint() = default;
  TimelinePoint(Ref<Timeline> timeline, std::uint64_t value) : timeline_(std::move(timeline)), value_(value) {}

  bool needs_wait() const { return timeline_ && timeline_->query(value_) != PointState::kReached; }
  PointState state() const { return timeline_ ? timeline_->query(value_) : PointState::kReached; }
  /// Waits on the host and books the wait, if one was needed, in `ledger`; null: the process ledger.
  /// @errors as Timeline::wait.
  TENON_API void wait(Deadline deadline = default_deadline(), Ledger* ledger = nullptr) const;
  const Ref<Timeline>& timeline() const { return timeline_; }
  std::uint64_t value() const { return value_; }
  friend bool operator==(const TimelinePoint&, const TimelinePoint&) = default;

 private:
  Ref<Timeline> timeline_;
  std::uint64_t value_ = 0;
};

/// A queue of a device or a library, in which work can be ordered by points without the host waiting
/// (`opencl::stream(queue)`).
/// @thread as the queue behind it.
class TENON_API Stream : public RefCounted {
 public:
  virtual std::string_view name() const = 0;
  /// Makes later work in the queue wait for `point`. False if the queue cannot wait for such a timeline; then the host
  /// must wait.
  /// @errors those of native calls.
  virtual bool wait_for(const TimelinePoint& point) = 0;
  /// The point when all work now in the queue is finished. @errors those of native calls.
  virtual TimelinePoint signal() = 0;
};

/// A timeline that host code advances.
class TENON_API HostTimeline : public Timeline {
 public:
  /// @param name  Owner of the timeline ("CPU, model resnet"), for messages about points that are never reached.
  explicit HostTimeline(std::string name = "host");
  ~HostTimeline() override;
  std::string_view name() const override { return name_; }
  PointState query(std::uint64_t value) const override;
  void wait(std::uint64_t value, Deadline deadline) const override;

  /// A point that the next advance() or fail() settles. Points settle in the order they were taken.
  TimelinePoint next();
  /// Settles all points up to `value`; smaller values than before are ignored.
  void advance(std::uint64_t value);
  /// Settles points up to `value`, the last one as failed: waiting for it raises `error`.
  void fail(std::uint64_t value, std::exception_ptr error);

 private:
  void settle(std::uint64_t value, std::exception_ptr error);

  std::atomic<std::uint64_t> reached_{0};
  std::atomic<std::uint64_t> handed_out_{0};
  std::atomic<bool> has_failures_{false};
  struct Waiters;
  const std::unique_ptr<Waiters> waiters_;
  const std::string name_;
};

}  // namespace v1
}  // namespace tenon
