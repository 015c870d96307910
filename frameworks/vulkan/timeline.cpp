// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores as points, and what lives until one is reached.
#include <tenon/frameworks/vulkan/timeline.hpp>

#include <chrono>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/relayed_point.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE SemaphoreTimeline::~SemaphoreTimeline() {
  if (is_ours_) native_->destroy_semaphore(semaphore_);
}

TENON_INLINE PointState SemaphoreTimeline::query(std::uint64_t value) const {
  if (reached_.load(std::memory_order_acquire) >= value) return PointState::kReached;
  std::uint64_t reached = 0;
  if (native_->calls().vkGetSemaphoreCounterValue(native_->handle(), semaphore_, &reached) != VK_SUCCESS)
    return PointState::kFailed;
  note_reached(reached);
  return reached >= value ? PointState::kReached : PointState::kPending;
}

TENON_INLINE void SemaphoreTimeline::wait(std::uint64_t value, Deadline deadline) const {
  if (reached_.load(std::memory_order_acquire) >= value) return;
  auto info = typed<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1, info.pSemaphores = &semaphore_, info.pValues = &value;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  const VkResult result = call(native_->calls().vkWaitSemaphores, native_->handle(), &info,
                               left > 0 ? static_cast<std::uint64_t>(left) : 0u);
  check(result, "vkWaitSemaphores", [&] {
    return result == VK_TIMEOUT
               ? "a timeline semaphore did not reach " + std::to_string(value) +
                     " in time; the work of its queue is late, or waits for something else"
               : "waiting for work on " + native_->device().name + "; what it was to write is undefined";
  });
  note_reached(value);
}

TENON_INLINE void SemaphoreTimeline::note_reached(std::uint64_t value) const noexcept {
  std::uint64_t known = reached_.load(std::memory_order_relaxed);
  while (known < value && !reached_.compare_exchange_weak(known, value, std::memory_order_release)) continue;
}

/// Keeps an object alive until a point is settled, by RelayedPoint.
struct Keeper {
  Ref<RefCounted> kept;
  void set(bool) noexcept { kept = {}; }
};

TENON_INLINE void keep_until(const TimelinePoint& point, Ref<RefCounted> kept) {
  RelayedPoint<Keeper>::relay(point, {std::move(kept)});
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
