// SPDX-License-Identifier: Apache-2.0
// Deferred work: memory is freed, and leases are returned, when no device uses them any more.
#pragma once

#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {
class Reaper;
}

/// An action that is performed once, when work that runs elsewhere has finished. The object holds its own list link, so
/// deferring allocates nothing and cannot fail.
class TENON_API Deferred {
 public:
  /// Whether the action can be performed now. Called often, by one thread at a time.
  virtual bool is_ready() noexcept = 0;
  /// Performs the action; may destroy this object. Called on a thread of Tenon's own: it must not wait.
  virtual void finish() noexcept = 0;

 protected:
  virtual ~Deferred() = default;

 private:
  friend class detail::Reaper;
  Deferred* next_ = nullptr;
};

/// Calls deferred.finish() as soon as it is ready. The work is polled in intervals that grow from microseconds to
/// milliseconds. Actions that are not ready when the process ends are not performed.
/// @thread any. @cost a lock; the first call of a process starts a thread.
TENON_API void defer(Deferred& deferred) noexcept;
/// Polls all deferred actions now instead of after the current interval. Call it when an event happened for which work
/// may wait.
/// @thread any. @cost one load when nothing is deferred.
TENON_API void look_at_deferred() noexcept;
/// Waits until nothing is deferred; for tests that count objects. False at the deadline.
TENON_API bool drain_deferred(Deadline deadline) noexcept;

}  // namespace v1
}  // namespace tenon
