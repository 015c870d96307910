// SPDX-License-Identifier: Apache-2.0
// How users' commands and Tenon's tensors wait for each other; external semaphores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/level_zero/event.hpp>
#include <tenon/frameworks/level_zero/fence.hpp>
#include <tenon/frameworks/level_zero/make.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

namespace detail {

/// What commands that wait by a WaitList need until they are over. Events of ours that are not signalled when it goes
/// are not used again: a command may still wait for them.
class Waits final : public RefCounted {
 public:
  static Ref<Waits> make() { return Ref<Waits>(FreeList<Waits>::instance().take()); }
  void add(const TimelinePoint& point, Ref<OwnedEvent> relay);
  static constexpr std::size_t kMost = 2 * Hazards::kMaxPoints;

 private:
  friend class FreeList<Waits>;
  void dispose() noexcept override;

  std::array<TimelinePoint, kMost> points_;  // Keep the owners of users' events alive.
  std::array<Ref<OwnedEvent>, kMost> relays_;
  std::size_t size_ = 0;
  Waits* next_ = nullptr;
};

TimelinePoint point_in(const Tensor& tensor, ze_event_handle_t event, Ref<RefCounted> owner, const char* function);
TimelinePoint point_in(const Tensor& tensor, ze_fence_handle_t fence, Ref<RefCounted> owner, const char*);

}  // namespace detail

/// Declares that a command writes the tensor's memory until `signal` (a ze_event or ze_fence): uses of the memory then wait
/// for it and report its failure. The object stays the caller's: see point(). An event must be one of the tensor's
/// ze_context, where other commands will wait for it.
/// @param owner  Kept until then: the WaitList::owner() of the command.
/// @errors kInvalidArgument: null, a tensor outside Level Zero, an event of another ze_context (where the loader or the
/// driver can tell: API 1.9).
template <typename T>
void wrote(const Tensor& tensor, T signal, Ref<RefCounted> owner = {}) {
  const TimelinePoint point = detail::point_in(tensor, signal, std::move(owner), "wrote");
  tensor.memory()->hazards().wrote(point, written_bytes(tensor));
}
/// Declares that a command reads the tensor's memory until `signal`: writers wait for it. @errors as wrote().
template <typename T>
void reads(const Tensor& tensor, T signal, Ref<RefCounted> owner = {}) {
  tensor.memory()->hazards().read_until(detail::point_in(tensor, signal, std::move(owner), "reads"));
}

/// What a command must wait for before it accesses a tensor, as its phWaitEvents. Allocates nothing in the steady state.
/// Level Zero counts no references: the list, or its owner(), must stay until the command is over, or a later one would
/// find its events in use elsewhere. An event that is not signalled when they go is not used again while the context
/// lives: that wait stays right, and costs an event.
class WaitList {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
  /// Null when empty, as Level Zero requires.
  ze_event_handle_t* data() { return size_ == 0 ? nullptr : events_.data(); }
  /// For wrote() and reads() of the command's own event, which keep it until the command is over. Null when empty.
  const Ref<RefCounted>& owner() const { return waits_; }
  /// Adds `point`, as its own event, or as one that the host signals when the point is reached.
  /// @errors those of native calls
  void add(const Ref<detail::Native>& native, const TimelinePoint& point);

 private:
  std::array<ze_event_handle_t, detail::Waits::kMost> events_{};
  std::size_t size_ = 0;
  Ref<RefCounted> waits_;
};

/// The wait list for a command that accesses `tensor`: all work on its memory that `access` must wait for, in whatever
/// API it runs. The host waits for none of it. A ze_event carries no failure: work that fails while the command waits
/// lets it run, and a map of the memory afterwards reports the failure.
/// @errors the failure of a write that `access` would read; those of native calls.
WaitList wait_list(const Tensor& tensor, Access access);

/// A semaphore of another API, imported by its descriptor. Command lists can signal it and wait for it.
/// @thread as its command list.
class Semaphore {
 public:
  /// @param fd  Stays the caller's. @param type  Its type: opaque, or a Vulkan timeline semaphore.
  /// @errors kUnimplemented, saying which is too old: a loader before 1.19, or a driver without the extension.
  Semaphore(const Context& context, int fd, abi::SemaphoreType type);
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();
  abi::SemaphoreHandle handle() const { return handle_; }

  /// Appends to a command list; `value` is used only by timeline semaphores.
  void append_signal(ze_command_list_handle_t list, std::uint64_t value) const;
  void append_wait(ze_command_list_handle_t list, std::uint64_t value) const;

 private:
  abi::SemaphoreHandle handle_ = nullptr;
  abi::DeviceReleaseExternalSemaphoreExt release_ = nullptr;
};

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
