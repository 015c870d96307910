// SPDX-License-Identifier: Apache-2.0
// One ze_context on one device, and the copies that Tenon makes the device perform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
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
  static LateCopies& instance() {
    static LateCopies* copies = new LateCopies;  // Outlives static destructors.
    return *copies;
  }
  void add(std::unique_ptr<CopyJob> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  /// Removes those that have finished. @param patience_ns  How long to wait for each.
  void put_away(std::uint64_t patience_ns) noexcept {
    std::vector<std::unique_ptr<CopyJob>> jobs;
    {
      const std::lock_guard lock(mutex_);
      jobs.swap(jobs_);
    }
    for (auto& job : jobs)
      if (zeFenceHostSynchronize(job->fence.get(), patience_ns) == ZE_RESULT_NOT_READY) add(std::move(job));
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return jobs_.empty();
  }

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
  void drop_idle() const noexcept {
    events.drop_idle();
    constexpr std::uint64_t kPatience = 100'000'000;
    LateCopies::instance().put_away(kPatience);
    const std::lock_guard lock(mutex_);
    idle_.clear();
    if (running_ == 0) queue_.reset();
  }

  /// Copies and waits. If the wait times out, `kept` (the owner of both sides) stays alive until the device finishes.
  /// @errors kUnimplemented: the device has no queue that can copy; kDeadlineExceeded; errors of native calls.
  void copy(std::span<const CopyRegion> regions, Ref<RefCounted> kept, Deadline deadline) const {
    if (regions.empty()) return;
    LateCopies& late = LateCopies::instance();
    if (!late.empty()) late.put_away(0);
    const Running running(*this);
    std::unique_ptr<CopyJob> job = take_job();
    start(*job, regions);
    job->kept = std::move(kept);
    try {
      synchronize("zeFenceHostSynchronize", zeFenceHostSynchronize, job->fence.get(), deadline,
                  [&] { return "copies on " + device.name; });
    } catch (...) {
      job->native = Ref<const RefCounted>(this);
      job->busy = std::make_shared<Running>(*this);
      late.add(std::move(job));
      throw;
    }
    give_back(std::move(job));
  }

 private:
  static constexpr std::size_t kMostIdle = 4;

  /// Keeps the queue alive while copies are made.
  class Running {
   public:
    explicit Running(const Native& native) : native_(native) { count(1); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { count(-1); }

   private:
    void count(int change) {
      const std::lock_guard lock(native_.mutex_);
      native_.running_ += change;
    }
    const Native& native_;
  };

  void start(const CopyJob& job, std::span<const CopyRegion> regions) const {
    ze_command_list_handle_t list = job.list.get();
    if (before_copies) check(before_copies(list), "before_copies", "a test's own commands");
    for (const CopyRegion& region : regions)
      check(call(zeCommandListAppendMemoryCopy, list, region.to, region.from, region.size, ze_event_handle_t{nullptr},
                 std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
            "zeCommandListAppendMemoryCopy",
            [&] { return "copying " + std::to_string(region.size) + " bytes on " + device.name; });
    check(call(zeCommandListClose, list), "zeCommandListClose", "ending a list of copies");
    check(call(zeCommandQueueExecuteCommandLists, queue_.get(), std::uint32_t{1}, &list, job.fence.get()),
          "zeCommandQueueExecuteCommandLists", [&] { return "starting copies on " + device.name; });
  }
  /// An open list and an unsignalled fence.
  std::unique_ptr<CopyJob> take_job() const {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<CopyJob> job = std::move(idle_.back());
      idle_.pop_back();
      return job;
    }
    if (!device.copy_group)
      throw Error(Code::kUnimplemented, "level_zero: " + device.name + " has no command queue that copies");
    const auto what = [&] { return "making a command queue for copies on " + device.name; };
    if (!queue_) {
      auto wanted = typed<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
      wanted.ordinal = *device.copy_group;
      wanted.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
      queue_ = create<ze_command_queue_handle_t>("zeCommandQueueCreate", what, zeCommandQueueCreate, context.get(),
                                                 device.handle, &wanted);
    }
    auto job = std::make_unique<CopyJob>();
    auto wanted = typed<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
    wanted.commandQueueGroupOrdinal = *device.copy_group;
    job->list = create<ze_command_list_handle_t>("zeCommandListCreate", what, zeCommandListCreate, context.get(),
                                                 device.handle, &wanted);
    const auto fence = typed<ze_fence_desc_t>(ZE_STRUCTURE_TYPE_FENCE_DESC);
    job->fence = create<ze_fence_handle_t>("zeFenceCreate", what, zeFenceCreate, queue_.get(), &fence);
    return job;
  }
  /// Keeps a finished job for reuse; drops it if it cannot be reset.
  void give_back(std::unique_ptr<CopyJob> job) const noexcept {
    job->kept = {};
    if (zeFenceReset(job->fence.get()) != ZE_RESULT_SUCCESS || zeCommandListReset(job->list.get()) != ZE_RESULT_SUCCESS)
      return;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(job));
  }

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
