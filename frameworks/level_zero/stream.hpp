// SPDX-License-Identifier: Apache-2.0
// Users' queues and immediate lists as streams: they wait for the work on what is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/level_zero/event.hpp>
#include <tenon/frameworks/level_zero/fence.hpp>
#include <tenon/frameworks/level_zero/make.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// Command lists for one group of queues, used again.
/// @thread all members from any thread.
class BarrierLists final : public RefCounted {
 public:
  BarrierLists(Ref<Native> native, std::uint32_t group) : native_(std::move(native)), group_(group) {
    idle_.reserve(kMostIdle);
  }
  /// An open list. @errors those of native calls.
  Handle<ze_command_list_handle_t> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto list = std::move(idle_.back());
        idle_.pop_back();
        return list;
      }
    }
    auto wanted = typed<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
    wanted.commandQueueGroupOrdinal = group_;
    return create<ze_command_list_handle_t>("zeCommandListCreate", "making a list for a barrier", zeCommandListCreate,
                                            native_->context.get(), native_->device.handle, &wanted);
  }
  /// For a list that no device executes.
  void give_back(Handle<ze_command_list_handle_t> list) noexcept {
    if (!list || zeCommandListReset(list.get()) != ZE_RESULT_SUCCESS) return;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(list));
  }

 private:
  static constexpr std::size_t kMostIdle = 8;

  const Ref<Native> native_;
  const std::uint32_t group_;
  std::mutex mutex_;
  std::vector<Handle<ze_command_list_handle_t>> idle_;
};

/// What a barrier in a user's queue needs until the device has passed it.
class PendingBarrier final : private Deferred {
 public:
  struct Parts {
    Ref<BarrierLists> lists;  ///< Released last.
    Handle<ze_command_list_handle_t> list;
    Ref<OwnedEvent> passed;
    TimelinePoint point;  ///< What it waits for,
    Waited waited;        ///< and the event of that.
  };
  static PendingBarrier* make() { return FreeList<PendingBarrier>::instance().take(); }
  void drop() noexcept { FreeList<PendingBarrier>::instance().give_back(this); }
  /// Keeps `parts` until parts.passed is signalled.
  void keep(Parts parts) noexcept {
    parts_ = std::move(parts);
    defer(*this);
  }

 private:
  friend class FreeList<PendingBarrier>;
  bool is_ready() noexcept override { return zeEventQueryStatus(parts_.passed->handle()) != ZE_RESULT_NOT_READY; }
  void finish() noexcept override {
    Parts parts = std::exchange(parts_, {});
    drop();
    if (parts.lists) parts.lists->give_back(std::move(parts.list));
  }

  Parts parts_;
  PendingBarrier* next_ = nullptr;
};

}  // namespace detail

/// A user's queue, or immediate list, as a stream: MapOptions::stream makes it wait for the work on what is mapped, by a
/// barrier. Each barrier signals an event when the device has passed it, and keeps until then what it needs.
/// The queue or list must live until then; with destroyed ones, events and lists of theirs are kept for ever.
/// @thread as the queue or list.
class CommandStream final : public Stream {
 public:
  CommandStream(Ref<detail::Native> native, ze_command_queue_handle_t queue, std::uint32_t group)
      : native_(std::move(native)), lists_(make_ref<detail::BarrierLists>(native_, group)), queue_(queue) {}
  CommandStream(Ref<detail::Native> native, ze_command_list_handle_t immediate)
      : native_(std::move(native)), immediate_(immediate) {}

  std::string_view name() const override { return queue_ ? "level_zero.queue" : "level_zero.list"; }
  /// @errors those of native calls; the failure of a point that has failed: a ze_event carries none.
  bool wait_for(const TimelinePoint& point) override {
    if (point.state() == PointState::kFailed) point.wait();
    if (!point.needs_wait()) return true;
    append(point, detail::event_for(native_, point));
    return true;
  }
  TimelinePoint signal() override {
    const Ref<detail::OwnedEvent> passed = append({}, {});
    return TimelinePoint(EventTimeline::over(passed->handle(), passed, native_->context.get()), 1);
  }

 private:
  /// @return what is signalled when the device has passed the barrier.
  Ref<detail::OwnedEvent> append(const TimelinePoint& point, detail::Waited waited) {
    constexpr const char* kWhat = "making a queue wait for a tensor's memory";
    Ref<detail::OwnedEvent> passed = detail::OwnedEvent::take(native_);
    detail::PendingBarrier* const pending = detail::PendingBarrier::make();
    detail::PendingBarrier::Parts parts{lists_, {}, passed, point, std::move(waited)};
    try {
      if (queue_) parts.list = lists_->take();
      ze_command_list_handle_t list = queue_ ? parts.list.get() : immediate_;
      ze_event_handle_t before = parts.waited.event;
      detail::check(detail::call(zeCommandListAppendBarrier, list, passed->handle(), std::uint32_t{before ? 1u : 0u},
                                 before ? &before : nullptr),
                    "zeCommandListAppendBarrier", kWhat);
      if (queue_) {
        detail::check(detail::call(zeCommandListClose, list), "zeCommandListClose", kWhat);
        detail::check(detail::call(zeCommandQueueExecuteCommandLists, queue_, std::uint32_t{1}, &list,
                                   ze_fence_handle_t{nullptr}),
                      "zeCommandQueueExecuteCommandLists", kWhat);
      }
    } catch (...) {
      pending->drop();
      throw;
    }
    passed->lend();
    pending->keep(std::move(parts));
    return passed;
  }

  const Ref<detail::Native> native_;
  const Ref<detail::BarrierLists> lists_;  // For a queue.
  const ze_command_queue_handle_t queue_ = nullptr;
  const ze_command_list_handle_t immediate_ = nullptr;
};

/// `queue` as a stream; borrowed. @param group  The ordinal that it was made with; nothing: the device's for computing.
/// @errors kInvalidArgument: null, a context of another framework. A queue of another ze_context is refused by the
/// driver when it is used.
inline Ref<Stream> stream(const Context& context, ze_command_queue_handle_t queue,
                          std::optional<std::uint32_t> group = {}) {
  const UsmContext& usm = detail::usm_context(context, "stream");
  if (!queue) throw Error(Code::kInvalidArgument, "level_zero::stream: a null ze_command_queue");
  const Device& device = usm.native().device;
  if (!group) group = device.compute_group ? device.compute_group : device.copy_group;
  return Ref<Stream>(new CommandStream(usm.native_ref(), queue, group.value_or(0)));
}
/// An immediate command list as a stream; borrowed. @errors kInvalidArgument: null, a context of another framework, a
/// list that is not immediate (where the loader can tell: API 1.9): what is recorded may run more than once, and an event
/// of ours is signalled once.
inline Ref<Stream> stream(const Context& context, ze_command_list_handle_t immediate) {
  const UsmContext& usm = detail::usm_context(context, "stream");
  if (!immediate) throw Error(Code::kInvalidArgument, "level_zero::stream: a null ze_command_list");
  ze_bool_t is_immediate = true;
  if (const auto ask = detail::newer().command_list_is_immediate;
      ask && ask(immediate, &is_immediate) == ZE_RESULT_SUCCESS && !is_immediate)
    throw Error(Code::kInvalidArgument, "level_zero::stream: the command list is not an immediate one; give its queue");
  return Ref<Stream>(new CommandStream(usm.native_ref(), immediate));
}

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
