// SPDX-License-Identifier: Apache-2.0
// Fences of EGL as points, and how a user's commands and Tenon's tensors wait for each other.
#pragma once

#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/core/event_timeline.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/egl/device.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

/// One EGLSync; its only point is 1.
/// @thread all members from any thread.
class SyncTimeline final : public EventTimelineBase<SyncTimeline> {
 public:
  /// @param is_ours  Destroyed with the last point; else it is a user's, and lives until the point is reached.
  static Ref<SyncTimeline> over(Ref<detail::Native> native, EGLSyncKHR sync, bool is_ours);
  std::string_view name() const override { return "egl.sync"; }
  EGLSyncKHR sync() const { return sync_; }
  EGLDisplay display() const { return native_->display(); }

 private:
  friend class FreeList<SyncTimeline>;
  friend class EventTimelineBase<SyncTimeline>;
  SyncTimeline() = default;
  ~SyncTimeline() override = default;

  PointState ask() const noexcept;
  /// @errors kDeadlineExceeded; those of eglClientWaitSync.
  void await(Deadline deadline) const;
  void drop() noexcept;

  Ref<detail::Native> native_;
  EGLSyncKHR sync_ = EGL_NO_SYNC_KHR;
  bool is_ours_ = false;
};

/// The point at which all commands of the calling thread's current context are done, which are flushed. That context's display is
/// the one of `context`. @errors kFailedPrecondition: no context is current; kInvalidArgument; those of native calls.
/// @thread that of the commands.
TimelinePoint fence(const Context& context);
/// The point of a user's EGLSync, which stays the user's and lives until the point was seen as reached. The user has flushed.
/// @errors kInvalidArgument: null, a context of another framework.
TimelinePoint point(const Context& context, EGLSyncKHR sync);

/// Declares that the current context's commands, until now, write (read) the tensor's memory: fence() for it.
/// @errors kInvalidArgument: a tensor of another framework; as fence(). @thread that of the commands.
void wrote(const Tensor& tensor);
void reads(const Tensor& tensor);

/// Makes later commands of the calling thread's current context wait for the work on the tensor's memory that `access` must wait
/// for: for fences of EGL and, with EGL_ANDROID_native_fence_sync, sync files, the renderer waits; for other points the host does.
/// @errors the failure of a write that `access` would read; kDeadlineExceeded; those of native calls.
/// @thread that of the commands.
void order(const Tensor& tensor, Access access);

/// A sync file of the kernel that is signalled when the current context's commands until now are done.
/// @errors kUnimplemented: the display lacks EGL_ANDROID_native_fence_sync; as fence(). @thread that of the commands.
UniqueFd export_sync_file(const Context& context);

}  // namespace egl
}  // namespace v1
}  // namespace tenon
