// SPDX-License-Identifier: Apache-2.0
// Users' queues and immediate lists as streams: they wait for the work on what is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
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
  BarrierLists(Ref<Native> native, std::uint32_t group);
  /// An open list. @errors those of native calls.
  Handle<ze_command_list_handle_t> take();
  /// For a list that no device executes.
  void give_back(Handle<ze_command_list_handle_t> list) noexcept;

 private:
  static constexpr std::size_t kMostIdle = 8;

  const Ref<Native> native_;
  const std::uint32_t group_;
  std::mutex mutex_;
  std::vector<Handle<ze_command_list_handle_t>> idle_;
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
  bool wait_for(const TimelinePoint& point) override;
  TimelinePoint signal() override;

 private:
  /// @return what is signalled when the device has passed the barrier.
  Ref<detail::OwnedEvent> append(const TimelinePoint& point, detail::Waited waited);

  const Ref<detail::Native> native_;
  const Ref<detail::BarrierLists> lists_;  // For a queue.
  const ze_command_queue_handle_t queue_ = nullptr;
  const ze_command_list_handle_t immediate_ = nullptr;
};

/// `queue` as a stream; borrowed. @param group  The ordinal that it was made with; nothing: the device's for computing.
/// @errors kInvalidArgument: null, a context of another framework. A queue of another ze_context is refused by the
/// driver when it is used.
Ref<Stream> stream(const Context& context, ze_command_queue_handle_t queue, std::optional<std::uint32_t> group = {});
/// An immediate command list as a stream; borrowed. @errors kInvalidArgument: null, a context of another framework, a
/// list that is not immediate (where the loader can tell: API 1.9): what is recorded may run more than once, and an event
/// of ours is signalled once.
Ref<Stream> stream(const Context& context, ze_command_list_handle_t immediate);

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
