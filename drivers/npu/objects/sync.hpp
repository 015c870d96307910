// SPDX-License-Identifier: Apache-2.0
// Fences and events.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/wait.hpp>

namespace tenon::npu {

/// Signalled with a submission's result when that is done. A reset detaches it from a submission in progress.
class Fence final : public Object {
 public:
  using Handle = ze_fence_handle_t;
  static constexpr Kind kKind = Kind::kFence;

  /// @param queue  the handle of its queue, stored only for comparison.
  Fence(const void* queue, bool signalled) : queue_(queue), state_(signalled ? kSignalled : kReset) {}
  const void* queue() const noexcept { return queue_; }
  ze_fence_handle_t handle() const noexcept { return static_cast<ze_fence_handle_t>(Object::handle()); }

  /// Attaches it to a submission. @return false if it is attached. @param token  for complete() or abandon().
  bool begin(std::uint32_t* token) noexcept;
  void complete(std::uint32_t token, ze_result_t result) noexcept;
  void abandon(std::uint32_t token) noexcept;
  void reset() noexcept;
  bool is_signalled() const noexcept { return (state_.load() & kStates) == kSignalled; }
  /// @return ZE_RESULT_NOT_READY when the deadline passed, otherwise the submission's result.
  ze_result_t wait(Deadline deadline) noexcept;
  /// Whether wait() has already returned the failure of this submission.
  bool has_told(std::uint32_t token) const noexcept { return told_.load() == (token & ~std::uint32_t{kStates}); }

 private:
  enum : std::uint32_t { kReset = 0, kPending = 1, kSignalled = 2, kStates = 3, kNextEpoch = 4 };
  const void* const queue_;
  Futex state_;  ///< The state, and in the upper bits the submission's epoch.
  std::atomic<ze_result_t> result_{ZE_RESULT_SUCCESS};
  std::atomic<std::uint32_t> told_{kReset};  ///< The submission whose failure wait() returned; the first is kNextEpoch.
};

class EventPool final : public Object {
 public:
  using Handle = ze_event_pool_handle_t;
  static constexpr Kind kKind = Kind::kEventPool;

  EventPool(Ref<Context> context, ze_event_pool_flags_t flags, std::uint32_t count)
      : context_(std::move(context)), flags_(flags), taken_(count) {}
  ze_event_pool_handle_t handle() const noexcept { return static_cast<ze_event_pool_handle_t>(Object::handle()); }
  const Context& context() const noexcept { return *context_; }
  ze_event_pool_flags_t flags() const noexcept { return flags_; }
  bool has_timestamps() const noexcept;
  /// @return false if the index is out of range or in use.
  bool take(std::uint32_t index);
  void give_back(std::uint32_t index) noexcept;

 private:
  const Ref<Context> context_;
  const ze_event_pool_flags_t flags_;
  std::mutex mutex_;
  std::vector<bool> taken_;
};

/// Times at which the signalling command ran, of now_ns()'s clock.
struct Timestamps {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

class Event final : public Object {
 public:
  using Handle = ze_event_handle_t;
  static constexpr Kind kKind = Kind::kEvent;

  Event(Ref<EventPool> pool, const ze_event_desc_t& descriptor)
      : pool_(std::move(pool)),
        index_(descriptor.index),
        signal_scope_(descriptor.signal),
        wait_scope_(descriptor.wait) {}
  ze_event_handle_t handle() const noexcept { return static_cast<ze_event_handle_t>(Object::handle()); }
  EventPool& pool() const noexcept { return *pool_; }
  /// Called once, when its handle is destroyed: a command that has just signalled it may still hold the event itself.
  void give_index_back() noexcept { pool_->give_back(index_); }
  ze_event_scope_flags_t signal_scope() const noexcept { return signal_scope_; }
  ze_event_scope_flags_t wait_scope() const noexcept { return wait_scope_; }

  void signal(ze_result_t result, Timestamps when) noexcept;
  void reset() noexcept { state_.store(kReset); }
  /// Called when the command that was to signal it was refused. Unless the event is signalled, waits return that result
  /// at once, until another command is expected to signal it.
  void refuse(ze_result_t result) noexcept;
  /// Called when a command that signals it is recorded or submitted.
  void expect() noexcept;
  /// @return ZE_RESULT_NOT_READY when the deadline passed, otherwise the result of the signalling command.
  ze_result_t wait(Deadline deadline, std::uint64_t spin_ns) noexcept;
  Timestamps timestamps() const noexcept;

 private:
  const Ref<EventPool> pool_;
  const std::uint32_t index_;
  const ze_event_scope_flags_t signal_scope_, wait_scope_;
  enum : std::uint32_t { kReset = 0, kSignalled = 1, kRefused = 2 };
  Futex state_;
  std::atomic<ze_result_t> result_{ZE_RESULT_SUCCESS}, refusal_{ZE_RESULT_SUCCESS};
  std::atomic<std::uint64_t> start_ns_{0}, end_ns_{0};
};

}  // namespace tenon::npu
