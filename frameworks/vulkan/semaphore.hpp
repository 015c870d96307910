// SPDX-License-Identifier: Apache-2.0
// Semaphores shared with other APIs by descriptor (VK_KHR_external_semaphore_fd): timelines, and the kernel's sync files.
#pragma once

#include <cstdint>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vulkan/device.hpp>
#include <tenon/frameworks/vulkan/timeline.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Whether timelines (sync files) pass as descriptors. @param out  Exported; else imported.
bool shares_timelines(const Native& native, bool out);
bool shares_sync_files(const Native& native, bool out);

/// A sync file as a binary semaphore that one submission waits for. Takes `fd` over on success only. It is owned by the
/// returned object, whose points mean nothing. @errors those of native calls.
Ref<SemaphoreTimeline> import_fence(const Ref<Native>& native, UniqueFd&& fd);

}  // namespace detail

/// A timeline semaphore that another API, or another VkDevice on the same device, has too.
/// @thread all members from any thread.
class Semaphore {
 public:
  /// A new one that can be exported. @errors kUnimplemented: the device lacks VK_KHR_external_semaphore_fd for timelines;
  /// kInvalidArgument: a context of another framework; those of native calls.
  static Semaphore make(const Context& context, std::uint64_t value = 0);
  /// @param fd  An opaque descriptor of a timeline semaphore; taken over on success only. @errors as make().
  static Semaphore import(const Context& context, UniqueFd&& fd);

  /// A descriptor of it, the caller's to close. @errors those of the call.
  UniqueFd export_fd() const;
  VkSemaphore handle() const { return timeline_->semaphore(); }
  /// The point at which it has `value`, in whatever API that is signalled.
  TimelinePoint point(std::uint64_t value) const { return TimelinePoint(timeline_, value); }
  /// Signals `value` when all that is in the context's queue now is done. @return that point. @errors those of the call.
  TimelinePoint signal(std::uint64_t value) const;
  /// What is submitted to the context's queue from now on waits until it has `value`. @errors those of the call.
  void wait(std::uint64_t value) const;

 private:
  Semaphore(Ref<detail::Native> native, Ref<detail::SemaphoreTimeline> timeline)
      : native_(std::move(native)), timeline_(std::move(timeline)) {}
  Ref<detail::Native> native_;
  Ref<detail::SemaphoreTimeline> timeline_;
};

/// A sync file of the kernel that is signalled when all that is in the context's queue now is done; empty when that is so
/// already. @errors kUnimplemented: the device exports none (named); kInvalidArgument; those of native calls.
UniqueFd export_sync_file(const Context& context);
/// What is submitted to the context's queue from now on waits for a sync file; the host does not. Takes `fd` over on success
/// only. @errors kUnimplemented: the device imports none (named); kInvalidArgument; those of native calls.
void wait_for_sync_file(const Context& context, UniqueFd&& fd);

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
