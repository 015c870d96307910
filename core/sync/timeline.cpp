// SPDX-License-Identifier: Apache-2.0
// Host timelines, and waiting with a deadline and a ledger entry.
#include <tenon/core/timeline.hpp>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>

#include <condition_variable>
#include <map>
#include <mutex>

namespace tenon {
inline namespace v1 {

TENON_INLINE void TimelinePoint::wait(Deadline deadline, Ledger* ledger) const {
  if (!timeline_) return;
  const bool blocks = timeline_->query(value_) == PointState::kPending;
  const auto start = blocks ? Clock::now() : Clock::time_point{};
  timeline_->wait(value_, deadline);
  if (blocks) (ledger ? *ledger : Ledger::process()).book_wait(host_wait(), Clock::now() - start);
}

/// The part of a timeline that only waits and failures touch.
struct HostTimeline::Waiters {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, std::exception_ptr> failures;  ///< Guarded by mutex.
};

TENON_INLINE HostTimeline::HostTimeline(std::string name)
    : waiters_(std::make_unique<Waiters>()), name_(std::move(name)) {}
TENON_INLINE HostTimeline::~HostTimeline() = default;

TENON_INLINE PointState HostTimeline::query(std::uint64_t value) const {
  if (reached_.load(std::memory_order_acquire) < value) return PointState::kPending;
  if (!has_failures_.load(std::memory_order_acquire)) return PointState::kReached;
  std::lock_guard lock(waiters_->mutex);
  return waiters_->failures.count(value) ? PointState::kFailed : PointState::kReached;
}

TENON_INLINE void HostTimeline::wait(std::uint64_t value, Deadline deadline) const {
  std::unique_lock lock(waiters_->mutex);
  const bool reached =
      waiters_->changed.wait_until(lock, deadline, [&] { return reached_.load(std::memory_order_relaxed) >= value; });
  if (!reached) {
    throw Error(Code::kDeadlineExceeded, "timeline '" + name_ + "': point " + std::to_string(value) +
                                             " was not reached in time (at " + std::to_string(reached_.load()) +
                                             "); the producer is late or gone");
  }
  const auto& failures = waiters_->failures;
  if (auto failure = failures.find(value); failure != failures.end()) std::rethrow_exception(failure->second);
}

TENON_INLINE TimelinePoint HostTimeline::next() {
  return TimelinePoint(Ref<Timeline>(this), handed_out_.fetch_add(1, std::memory_order_relaxed) + 1);
}

TENON_INLINE void HostTimeline::advance(std::uint64_t value) { settle(value, nullptr); }

TENON_INLINE void HostTimeline::fail(std::uint64_t value, std::exception_ptr error) { settle(value, std::move(error)); }

TENON_INLINE void HostTimeline::settle(std::uint64_t value, std::exception_ptr error) {
  {
    std::lock_guard lock(waiters_->mutex);
    if (error) {
      waiters_->failures[value] = std::move(error);
      has_failures_.store(true, std::memory_order_release);
    }
    if (value > reached_.load(std::memory_order_relaxed)) reached_.store(value, std::memory_order_release);
    waiters_->changed.notify_all();
  }
  look_at_deferred();
}

}  // namespace v1
}  // namespace tenon
