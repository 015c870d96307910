// SPDX-License-Identifier: Apache-2.0
// Ends that must wait for a device: memory is freed, and leases are returned, when nothing runs on them any more.
#pragma once

#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {
class Reaper;
}

/// Something to be done once, when work that runs elsewhere is finished. The object holds what it needs itself, so
/// that deferring allocates nothing and cannot fail.
class TENON_API Deferred {
 public:
  /// Whether it can be done now. Called often, by one thread at a time.
  virtual bool is_ready() noexcept = 0;
  /// Does it; may destroy this object. Called on a thread of Tenon's own: it must not wait.
  virtual void finish() noexcept = 0;

 protected:
  virtual ~Deferred() = default;

 private:
  friend class detail::Reaper;
  Deferred* next_ = nullptr;
};

/// Calls deferred.finish() as soon as it is ready. The work is looked at in intervals that begin with microseconds and
/// grow to milliseconds. What is not ready when the process ends is left as it is.
/// @thread any. @cost a lock; the first call of a process starts a thread.
TENON_API void defer(Deferred& deferred) noexcept;
/// Something that work waits for has happened: what is deferred is looked at now, not after the current interval.
/// @thread any. @cost one load when nothing is deferred.
TENON_API void look_at_deferred() noexcept;
/// Waits until nothing is deferred; for tests that count objects. False at the deadline.
TENON_API bool drain_deferred(Deadline deadline) noexcept;

}  // namespace v1
}  // namespace tenon
