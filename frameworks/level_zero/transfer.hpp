// SPDX-License-Identifier: Apache-2.0
// One ze_context on one device, and the copies that Tenon makes the device perform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/level_zero/device.hpp>
#include <tenon/frameworks/level_zero/event_origin.hpp>
#include <tenon/frameworks/level_zero/event_shelf.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// One copy between allocations that the device can access.
struct CopyRegion {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t size = 0;
};

/// A command list and the fence that signals its end. Reused: creating them costs more than a small copy.
struct CopyJob {
  Ref<const RefCounted> native;  ///< Set when late: keeps the queue's owner alive. First member, so released last.
  std::shared_ptr<void> busy;    ///< Set when late: keeps the queue from being dropped.
  Ref<RefCounted> kept;          ///< Keeps alive what the copies read and write.
  Handle<ze_command_list_handle_t> list;
  Handle<ze_fence_handle_t> fence;
};

/// Copies whose waits timed out while the device may still run them: they and their memory are kept until it finishes.
/// One list per process, because what they keep alive includes their context.
/// @thread all members from any thread.
class LateCopies {
 public:
  static LateCopies& instance();
  void add(std::unique_ptr<CopyJob> job) noexcept;
  /// Removes those that have finished. @param patience_ns  How long to wait for each.
  void put_away(std::uint64_t patience_ns) noexcept;
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CopyJob>> jobs_;
};

/// The native objects behind a context.
/// @thread members from any thread once constructed.
class Native final : public RefCounted {
 public:
  Device device;
  Handle<ze_context_handle_t> context;
  EventOrigin event_origin;
  mutable EventShelf events;
  /// The driver imports a sealed memfd like a dma-buf, as software drivers do. Determined by importing one.
  bool imports_memfd = false;
  /// The host can use addresses of device allocations. As the device reports, unless a test overrides it.
  bool maps_device_memory = false;
  /// For tests: appends commands before the copies.
  mutable std::function<ze_result_t(ze_command_list_handle_t)> before_copies;

  /// Releases the queue and lists kept for the next copy, idle events, and what late copies kept alive.
  void drop_idle() const noexcept;

  /// Copies and waits. If the wait times out, `kept` (the owner of both sides) stays alive until the device finishes.
  /// @errors kUnimplemented: the device has no queue that can copy; kDeadlineExceeded; errors of native calls.
  void copy(std::span<const CopyRegion> regions, Ref<RefCounted> kept, Deadline deadline) const;

 private:
  static constexpr std::size_t kMostIdle = 4;

  /// Keeps the queue alive while copies are made.
  class Running {
   public:
    explicit Running(const Native& native);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { count(-1); }

   private:
    void count(int change);
    const Native& native_;
  };

  void start(const CopyJob& job, std::span<const CopyRegion> regions) const;
  /// An open list and an unsignalled fence.
  std::unique_ptr<CopyJob> take_job() const;
  /// Keeps a finished job for reuse; drops it if it cannot be reset.
  void give_back(std::unique_ptr<CopyJob> job) const noexcept;

  // In order of creation: lists and fences are destroyed before the queue, the queue before the context.
  mutable std::mutex mutex_;
  mutable Handle<ze_command_queue_handle_t> queue_;
  mutable std::vector<std::unique_ptr<CopyJob>> idle_;
  mutable int running_ = 0;
};

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
