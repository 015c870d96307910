// SPDX-License-Identifier: Apache-2.0
// Timelines and points on them: the only primitive of synchronisation.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
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
  /// Waits on the host and books the wait, if one was needed, in `ledger` (may be null). @errors as Timeline::wait.
  TENON_API void wait(Deadline deadline = default_deadline(), Ledger* ledger = nullptr) const;
  const Ref<Timeline>& timeline() const { return timeline_; }
  std::uint64_t value() const { return value_; }
  friend bool operator==(const TimelinePoint&, const TimelinePoint&) = default;

 private:
  Ref<Timeline> timeline_;
  std::uint64_t value_ = 0;
};

/// A timeline advanced by host code.
class TENON_API HostTimeline final : public Timeline {
 public:
  std::string_view name() const override { return "host"; }
  PointState query(std::uint64_t value) const override;
  void wait(std::uint64_t value, Deadline deadline) const override;

  /// A point that the next advance() or fail() settles. Points settle in the order they were taken.
  TimelinePoint next();
  /// Settles all points up to `value`; smaller values than before are ignored.
  void advance(std::uint64_t value);
  /// Settles points up to `value`, the last one as failed: waiting for it raises `error`.
  void fail(std::uint64_t value, std::exception_ptr error);

 private:
  std::atomic<std::uint64_t> reached_{0};
  std::atomic<std::uint64_t> handed_out_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::uint64_t, std::exception_ptr> failures_;
};

}  // namespace v1
}  // namespace tenon
