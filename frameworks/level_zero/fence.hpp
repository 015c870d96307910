// SPDX-License-Identifier: Apache-2.0
// Points of any timeline as ze_events, so that commands wait instead of the host.
#pragma once

#include <cstdint>

#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/level_zero/event.hpp>
#include <tenon/frameworks/level_zero/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// An event of ours. When the last reference goes it is used again, unless a command may still wait for it.
/// @thread counting from any thread.
class OwnedEvent final : public RefCounted {
 public:
  /// @errors those of native calls. @cost a lock; allocates nothing in the steady state.
  static Ref<OwnedEvent> take(const Ref<Native>& native);
  ze_event_handle_t handle() const { return event_; }
  bool is_signalled() const noexcept { return zeEventQueryStatus(event_) == ZE_RESULT_SUCCESS; }
  /// From now on commands refer to it, until it is signalled.
  void lend() noexcept { use_ = Use::kLent; }
  /// When the commands that refer to it are over cannot be known, so it is not used again while its ze_context lives.
  void abandon() noexcept { use_ = Use::kAbandoned; }

 private:
  enum class Use : std::uint8_t { kNone, kLent, kAbandoned };
  friend class FreeList<OwnedEvent>;
  void dispose() noexcept override;

  Ref<Native> native_;
  ze_event_handle_t event_ = nullptr;
  Use use_ = Use::kNone;
  OwnedEvent* next_ = nullptr;
};

/// An event as the signal of a RelayedPoint. A ze_event carries no failure: commands that wait for it run, and the
/// failure stays in the memory's hazards, for those that map it.
struct HostSignal {
  Ref<OwnedEvent> event;
  void set(bool /*failed*/) noexcept { zeEventHostSignal(event->handle()); }
};

/// What a command waits for.
struct Waited {
  ze_event_handle_t event = nullptr;
  Ref<OwnedEvent> relay;  ///< Null for a user's event.
};

/// `point` as an event that commands of this ze_context can wait for: its own event, if it is known to be one of this
/// ze_context, else one that the host signals when the point is settled. @errors those of native calls.
Waited event_for(const Ref<Native>& native, const TimelinePoint& point);

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
