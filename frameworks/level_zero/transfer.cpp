// SPDX-License-Identifier: Apache-2.0
// One ze_context on one device, and the copies that Tenon makes the device perform.
#include <tenon/frameworks/level_zero/transfer.hpp>

#include <new>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

TENON_INLINE LateCopies& LateCopies::instance() {
  static LateCopies* copies = new LateCopies;  // Outlives static destructors.
  return *copies;
}

TENON_INLINE void LateCopies::add(std::unique_ptr<CopyJob> job) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    jobs_.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    (void)job.release();  // The device may still write there, so it is never freed.
  }
}

TENON_INLINE void LateCopies::put_away(std::uint64_t patience_ns) noexcept {
  std::vector<std::unique_ptr<CopyJob>> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  for (auto& job : jobs)
    if (zeFenceHostSynchronize(job->fence.get(), patience_ns) == ZE_RESULT_NOT_READY) add(std::move(job));
}

TENON_INLINE bool LateCopies::empty() const {
  const std::lock_guard lock(mutex_);
  return jobs_.empty();
}

TENON_INLINE void Native::drop_idle() const noexcept {
  events.drop_idle();
  constexpr std::uint64_t kPatience = 100'000'000;
  LateCopies::instance().put_away(kPatience);
  const std::lock_guard lock(mutex_);
  idle_.clear();
  if (running_ == 0) queue_.reset();
}

TENON_INLINE void Native::copy(std::span<const CopyRegion> regions, Ref<RefCounted> kept, Deadline deadline) const {
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
    try {
      job->busy = std::make_shared<Running>(*this);
      late.add(std::move(job));
    } catch (const std::bad_alloc&) {
      (void)job.release();  // The device may still write there: neither it nor the queue is ever freed.
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    throw;
  }
  give_back(std::move(job));
}

TENON_INLINE Native::Running::Running(const Native& native) : native_(native) { count(1); }

TENON_INLINE void Native::Running::count(int change) {
  const std::lock_guard lock(native_.mutex_);
  native_.running_ += change;
}

TENON_INLINE void Native::start(const CopyJob& job, std::span<const CopyRegion> regions) const {
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

TENON_INLINE std::unique_ptr<CopyJob> Native::take_job() const {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    std::unique_ptr<CopyJob> job = std::move(idle_.back());
    idle_.pop_back();
    return job;
  }
  idle_.reserve(kMostIdle);  // give_back() has no other way out.
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

TENON_INLINE void Native::give_back(std::unique_ptr<CopyJob> job) const noexcept {
  job->kept = {};
  if (zeFenceReset(job->fence.get()) != ZE_RESULT_SUCCESS || zeCommandListReset(job->list.get()) != ZE_RESULT_SUCCESS)
    return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(job));
}

TENON_INLINE EventOrigin::EventOrigin(ze_driver_handle_t driver)
    : get_pool_(newer().event_get_pool), get_context_(newer().event_pool_get_context) {
  if (get_pool_ && get_context_) return;
  by_driver_ = true;
  get_pool_ = of_driver<abi::EventGetEventPool>(driver, "zeEventGetEventPool");
  get_context_ = of_driver<abi::EventPoolGetContextHandle>(driver, "zeEventPoolGetContextHandle");
}

TENON_INLINE EventOrigin::Answer EventOrigin::ask(ze_event_handle_t event, ze_context_handle_t context) const {
  if (!get_pool_ || !get_context_) return Answer::kUnknown;
  ze_event_pool_handle_t pool = nullptr;
  ze_context_handle_t made_in = nullptr;
  if (get_pool_(by_driver_ ? driver_side(event) : event, &pool) != ZE_RESULT_SUCCESS ||
      get_context_(pool, &made_in) != ZE_RESULT_SUCCESS)
    return Answer::kElsewhere;
  return made_in == (by_driver_ ? driver_side(context) : context) ? Answer::kHere : Answer::kElsewhere;
}

TENON_INLINE ze_event_handle_t EventShelf::take(ze_context_handle_t context, ze_device_handle_t device) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) grow(context, device);
  const ze_event_handle_t event = idle_.back();
  idle_.pop_back();
  return event;
}

TENON_INLINE void EventShelf::give_back(ze_event_handle_t event) noexcept {
  if (zeEventHostReset(event) != ZE_RESULT_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  idle_.push_back(event);  // There is room for all.
}

TENON_INLINE void EventShelf::drop_idle() noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_.size() != events_.size()) return;
  idle_.clear();
  events_.clear();
  pools_.clear();
}

TENON_INLINE void EventShelf::grow(ze_context_handle_t context, ze_device_handle_t device) {
  constexpr const char* kWhat = "making events that commands wait for";
  auto wanted = typed<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  wanted.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  wanted.count = kPerPool;
  auto pool = create<ze_event_pool_handle_t>("zeEventPoolCreate", kWhat, zeEventPoolCreate, context, &wanted,
                                             std::uint32_t{1}, &device);
  std::vector<Handle<ze_event_handle_t>> made;
  for (std::uint32_t i = 0; i < kPerPool; ++i) {
    auto event = typed<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
    event.index = i;
    event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    made.push_back(create<ze_event_handle_t>("zeEventCreate", kWhat, zeEventCreate, pool.get(), &event));
  }
  pools_.reserve(pools_.size() + 1);
  events_.reserve(events_.size() + kPerPool);
  idle_.reserve(events_.size() + kPerPool);
  pools_.push_back(std::move(pool));
  for (Handle<ze_event_handle_t>& event : made) {
    idle_.push_back(event.get());
    events_.push_back(std::move(event));
  }
}

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
