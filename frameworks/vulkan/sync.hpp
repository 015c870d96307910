// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores as points, and how a user's submissions and Tenon's tensors wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vulkan/device.hpp>
#include <tenon/frameworks/vulkan/timeline.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace vulkan {
/// What a user's submission must wait for, as VkSubmitInfo and VkTimelineSemaphoreSubmitInfo take it. It keeps the
/// semaphores: let it live until the submission is over, or hand it to until().
class WaitList {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(semaphores_.size()); }
  const VkSemaphore* semaphores() const { return semaphores_.data(); }
  const std::uint64_t* values() const { return values_.data(); }
  /// VK_PIPELINE_STAGE_ALL_COMMANDS_BIT for each.
  const VkPipelineStageFlags* stages() const { return stages_.data(); }
  std::vector<detail::SemaphoreValue> pairs() const;
  /// Keeps the semaphores until `end`, the end of the submission that waits for them.
  void until(const TimelinePoint& end) &&;

  /// Adds `point`: by its own semaphore if that is one of this VkDevice, else by one that the host signals when the point is
  /// reached. @errors the failure of a point that has failed; those of native calls.
  void add(const Ref<detail::Native>& native, const TimelinePoint& point);

 private:
  std::vector<VkSemaphore> semaphores_;
  std::vector<std::uint64_t> values_;
  std::vector<VkPipelineStageFlags> stages_;
  std::vector<Ref<Timeline>> kept_;
};

/// The work on the memory of `tensor` that `access` must wait for, in whatever API it runs. The host waits for none of it. A
/// semaphore carries no failure: work that fails meanwhile lets the submission go on, and a map of the memory reports it.
/// @errors kInvalidArgument: a tensor of another framework; the failure of a write that `access` would read; those of
/// native calls.
WaitList waits(const Tensor& tensor, Access access);

/// The point at which a timeline semaphore of the context's VkDevice has `value`. The semaphore stays the caller's, and lives
/// until the point was seen as reached. @errors kInvalidArgument: null, a context of another framework.
TimelinePoint point(const Context& context, VkSemaphore semaphore, std::uint64_t value);

/// Declares that a submission writes (reads) the tensor's memory until `semaphore` has `value`; as point().
/// @errors kInvalidArgument: a tensor of another framework, a null semaphore.
void wrote(const Tensor& tensor, VkSemaphore semaphore, std::uint64_t value);
void reads(const Tensor& tensor, VkSemaphore semaphore, std::uint64_t value);

/// Records that the queue takes memory which other APIs see (exported, imported) before commands that use it, and gives it back
/// after them. For other memory they record nothing. The layout of an image is then layout(tensor).
/// @errors kInvalidArgument: a tensor of another framework.
void record_acquire(const Tensor& tensor, VkCommandBuffer commands);
void record_release(const Tensor& tensor, VkCommandBuffer commands);

/// The context's queue as a stream: MapOptions::stream makes it wait for the work on what is mapped.
/// @errors kInvalidArgument: a context of another framework.
Ref<Stream> stream(const Context& context);

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
