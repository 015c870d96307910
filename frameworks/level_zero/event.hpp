// SPDX-License-Identifier: Apache-2.0
// ze_event and ze_fence as timeline points: queried, waited for with a deadline, failures raised.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/event_timeline.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

namespace detail {

/// The calls for each kind of object.
template <typename T>
struct Signals;
template <>
struct Signals<ze_event_handle_t> {
  static constexpr const char* kName = "level_zero.event";
  static constexpr const char* kWait = "zeEventHostSynchronize";
  static constexpr auto wait = zeEventHostSynchronize;
  static constexpr auto query = zeEventQueryStatus;
};
template <>
struct Signals<ze_fence_handle_t> {
  static constexpr const char* kName = "level_zero.fence";
  static constexpr const char* kWait = "zeFenceHostSynchronize";
  static constexpr auto wait = zeFenceHostSynchronize;
  static constexpr auto query = zeFenceQueryStatus;
};

}  // namespace detail

/// One ze_event or ze_fence; its only point is 1. Level Zero does not count references: `owner`, or else the creator,
/// keeps the object alive until the point is reached; it may then be reset, reused or destroyed.
/// @thread all members from any thread.
template <typename T>
class SignalTimeline final : public EventTimelineBase<SignalTimeline<T>> {
 public:
  /// @param context  Where an event was made; null: not known.
  static Ref<SignalTimeline> over(T signal, Ref<RefCounted> owner, ze_context_handle_t context = nullptr) {
    Ref<SignalTimeline> timeline = SignalTimeline::take();
    timeline->signal_ = signal;
    timeline->owner_ = std::move(owner);
    timeline->context_ = context;
    return timeline;
  }
  std::string_view name() const override { return Calls::kName; }
  T handle() const { return signal_; }
  ze_context_handle_t context() const { return context_; }

 private:
  using Calls = detail::Signals<T>;
  friend class FreeList<SignalTimeline>;
  friend class EventTimelineBase<SignalTimeline>;
  SignalTimeline() = default;
  ~SignalTimeline() override = default;

  PointState ask() const noexcept {
    const ze_result_t result = Calls::query(signal_);
    return result == ZE_RESULT_SUCCESS     ? PointState::kReached
           : result == ZE_RESULT_NOT_READY ? PointState::kPending
                                           : PointState::kFailed;
  }
  /// @errors kAborted: the device was lost; kDeadlineExceeded; other errors of the call.
  void await(Deadline deadline) const {
    detail::synchronize(Calls::kWait, Calls::wait, signal_, deadline, [] {
      return "waiting for a " + std::string(Calls::kName) + ", which a device's command or the host is to signal";
    });
  }
  void drop() noexcept { owner_ = {}; }  // It may own the object.

  T signal_ = nullptr;
  Ref<RefCounted> owner_;
  ze_context_handle_t context_ = nullptr;
};
using EventTimeline = SignalTimeline<ze_event_handle_t>;
using FenceTimeline = SignalTimeline<ze_fence_handle_t>;

/// The point at which `event` is signalled. The event stays the caller's. It and its pool must not be reset or destroyed before
/// the point was seen as reached: by its state(), a wait, or a map of the memory. Level Zero does not detect that reliably.
/// `owner`, if given, is kept with the point. @errors kInvalidArgument: null.
TimelinePoint point(ze_event_handle_t event, Ref<RefCounted> owner = {});
/// The point at which `fence` is signalled, i.e. its command lists have finished. Otherwise as for events.
TimelinePoint point(ze_fence_handle_t fence, Ref<RefCounted> owner = {});

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
