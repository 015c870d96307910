// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores as points.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vulkan/device.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// One timeline semaphore; its points are its values. A reached point stays reached without another native call: a caller may
/// destroy its semaphore then.
/// @thread all members from any thread.
class SemaphoreTimeline final : public Timeline {
 public:
  /// @param is_ours  Destroyed with this; else it lives as long as what is waited for.
  static Ref<SemaphoreTimeline> over(Ref<Native> native, VkSemaphore semaphore, bool is_ours) {
    return Ref<SemaphoreTimeline>(new SemaphoreTimeline(std::move(native), semaphore, is_ours));
  }
  ~SemaphoreTimeline() override;
  std::string_view name() const override { return "vulkan.semaphore"; }
  /// kFailed: the device is lost.
  PointState query(std::uint64_t value) const override;
  /// @errors kDeadlineExceeded; kAborted: the device is lost; others of vkWaitSemaphores.
  void wait(std::uint64_t value, Deadline deadline) const override;
  VkSemaphore semaphore() const { return semaphore_; }
  const Native& native() const { return *native_; }

 private:
  SemaphoreTimeline(Ref<Native> native, VkSemaphore semaphore, bool is_ours)
      : native_(std::move(native)), semaphore_(semaphore), is_ours_(is_ours) {}
  void note_reached(std::uint64_t value) const noexcept;

  Ref<Native> native_;
  VkSemaphore semaphore_;
  bool is_ours_;
  mutable std::atomic<std::uint64_t> reached_{0};  ///< As far as was seen.
};

/// Keeps an object alive until a point is settled.
void keep_until(const TimelinePoint& point, Ref<RefCounted> kept);

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
