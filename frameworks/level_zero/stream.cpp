// SPDX-License-Identifier: Apache-2.0
// Users' queues and immediate lists as streams: they wait for the work on what is mapped.
#include <tenon/frameworks/level_zero/stream.hpp>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

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
  void keep(Parts parts) noexcept;

 private:
  friend class FreeList<PendingBarrier>;
  bool is_ready() noexcept override { return zeEventQueryStatus(parts_.passed->handle()) != ZE_RESULT_NOT_READY; }
  void finish() noexcept override;

  Parts parts_;
  PendingBarrier* next_ = nullptr;
};

TENON_INLINE BarrierLists::BarrierLists(Ref<Native> native, std::uint32_t group)
    : native_(std::move(native)), group_(group) {
  idle_.reserve(kMostIdle);
}

TENON_INLINE Handle<ze_command_list_handle_t> BarrierLists::take() {
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

TENON_INLINE void BarrierLists::give_back(Handle<ze_command_list_handle_t> list) noexcept {
  if (!list || zeCommandListReset(list.get()) != ZE_RESULT_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(list));
}

TENON_INLINE void PendingBarrier::keep(Parts parts) noexcept {
  parts_ = std::move(parts);
  defer(*this);
}

TENON_INLINE void PendingBarrier::finish() noexcept {
  Parts parts = std::exchange(parts_, {});
  drop();
  if (parts.lists) parts.lists->give_back(std::move(parts.list));
}

}  // namespace detail

TENON_INLINE bool CommandStream::wait_for(const TimelinePoint& point) {
  if (point.state() == PointState::kFailed) point.wait();
  if (!point.needs_wait()) return true;
  append(point, detail::event_for(native_, point));
  return true;
}

TENON_INLINE TimelinePoint CommandStream::signal() {
  const Ref<detail::OwnedEvent> passed = append({}, {});
  return TimelinePoint(EventTimeline::over(passed->handle(), passed, native_->context.get()), 1);
}

TENON_INLINE Ref<detail::OwnedEvent> CommandStream::append(const TimelinePoint& point, detail::Waited waited) {
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
      detail::check(
          detail::call(zeCommandQueueExecuteCommandLists, queue_, std::uint32_t{1}, &list, ze_fence_handle_t{nullptr}),
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

TENON_INLINE Ref<Stream> stream(const Context& context, ze_command_queue_handle_t queue,
                                std::optional<std::uint32_t> group) {
  const UsmContext& usm = detail::usm_context(context, "stream");
  if (!queue) throw Error(Code::kInvalidArgument, "level_zero::stream: a null ze_command_queue");
  const Device& device = usm.native().device;
  if (!group) group = device.compute_group ? device.compute_group : device.copy_group;
  return Ref<Stream>(new CommandStream(usm.native_ref(), queue, group.value_or(0)));
}

TENON_INLINE Ref<Stream> stream(const Context& context, ze_command_list_handle_t immediate) {
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
