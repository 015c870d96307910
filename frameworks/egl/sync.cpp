// SPDX-License-Identifier: Apache-2.0
// EGLSync as a point, and waits of the renderer.
#include <tenon/frameworks/egl/sync.hpp>

#include <chrono>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/egl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

TENON_INLINE Ref<SyncTimeline> SyncTimeline::over(Ref<detail::Native> native, EGLSyncKHR sync, bool is_ours) {
  Ref<SyncTimeline> timeline = take();
  timeline->native_ = std::move(native);
  timeline->sync_ = sync;
  timeline->is_ours_ = is_ours;
  return timeline;
}

TENON_INLINE PointState SyncTimeline::ask() const noexcept {
  const EGLint state = detail::calls().eglClientWaitSyncKHR(native_->display(), sync_, 0, 0);
  return state == EGL_CONDITION_SATISFIED_KHR ? PointState::kReached
         : state == EGL_TIMEOUT_EXPIRED_KHR   ? PointState::kPending
                                              : PointState::kFailed;
}

TENON_INLINE void SyncTimeline::await(Deadline deadline) const {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  const EGLint state = detail::Probe::injected()
                           ? EGL_FALSE
                           : detail::calls().eglClientWaitSyncKHR(native_->display(), sync_, 0,
                                                                  left > 0 ? static_cast<EGLTimeKHR>(left) : 0);
  if (state == EGL_CONDITION_SATISFIED_KHR) return;
  if (state == EGL_TIMEOUT_EXPIRED_KHR)
    throw Error(Code::kDeadlineExceeded,
                "egl: a fence was not reached in time; the renderer is late, or was not flushed",
                "eglClientWaitSyncKHR", state);
  const EGLint code = detail::calls().eglGetError();
  detail::fail(code == EGL_SUCCESS ? detail::kInjected : code, "eglClientWaitSyncKHR", "waiting for a fence");
}

TENON_INLINE void SyncTimeline::drop() noexcept {
  const Ref<detail::Native> native = std::move(native_);
  if (!is_ours_) return;
  detail::calls().eglDestroySyncKHR(native->display(), sync_);
  detail::Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

namespace detail {

/// A fence in the calling thread's current context.
TENON_INLINE EGLSyncKHR make_fence(const Native& native, EGLenum type, const EGLint* attributes, const char* function) {
  const Calls& c = calls();
  if (c.eglGetCurrentContext() == EGL_NO_CONTEXT)
    throw Error(
        Code::kFailedPrecondition,
        std::string("egl::") + function + ": no context is current on this thread; call it where your commands are");
  const EGLSyncKHR sync = egl_step(
      "eglCreateSyncKHR", [] { return std::string("making a fence"); },
      [&] { return c.eglCreateSyncKHR(native.display(), type, attributes); });
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  c.glFlush();
  return sync;
}

TENON_INLINE const Ref<Native>& native_of(const Tensor& tensor, const char* function) {
  texture(tensor);
  return egl_context(tensor.context(), function).native_ref();
}

}  // namespace detail

TENON_INLINE TimelinePoint fence(const Context& context) {
  const Ref<detail::Native>& native = detail::egl_context(context, "fence").native_ref();
  return TimelinePoint(
      SyncTimeline::over(native, detail::make_fence(*native, EGL_SYNC_FENCE_KHR, nullptr, "fence"), true), 1);
}

TENON_INLINE TimelinePoint point(const Context& context, EGLSyncKHR sync) {
  if (sync == EGL_NO_SYNC_KHR)
    throw Error(Code::kInvalidArgument, "egl::point: a null EGLSync; TimelinePoint::ready() needs none");
  return TimelinePoint(SyncTimeline::over(detail::egl_context(context, "point").native_ref(), sync, false), 1);
}

TENON_INLINE void wrote(const Tensor& tensor) {
  detail::native_of(tensor, "wrote");
  TimelinePoint end = fence(tensor.context());
  tensor.memory()->hazards().wrote(std::move(end), written_bytes(tensor));
}

TENON_INLINE void reads(const Tensor& tensor) {
  detail::native_of(tensor, "reads");
  TimelinePoint end = fence(tensor.context());
  tensor.memory()->hazards().read_until(std::move(end));
}

TENON_INLINE void order(const Tensor& tensor, Access access) {
  const Ref<detail::Native>& native = detail::native_of(tensor, "order");
  const detail::Calls& c = detail::calls();
  const auto waits = [&](EGLSyncKHR sync) {
    detail::egl_step(
        "eglWaitSyncKHR", [] { return std::string("making the renderer wait for a fence"); },
        [&] { return c.eglWaitSyncKHR(native->display(), sync, 0); });
  };
  tensor.memory()->wait_for(access, default_deadline(), nullptr, [&](const TimelinePoint& point) {
    if (!c.eglWaitSyncKHR || c.eglGetCurrentContext() == EGL_NO_CONTEXT) return false;
    if (const auto* known = dynamic_cast<const SyncTimeline*>(point.timeline().get());
        known && known->display() == native->display()) {
      waits(known->sync());
      return true;
    }
    const auto* file = dynamic_cast<const dmabuf::SyncFileTimeline*>(point.timeline().get());
    if (!file || !native->device().native_fences) return false;
    UniqueFd fd = file->export_fd();
    const EGLint attributes[] = {EGL_SYNC_NATIVE_FENCE_FD_ANDROID, fd.get(), EGL_NONE};
    const EGLSyncKHR sync = detail::make_fence(*native, EGL_SYNC_NATIVE_FENCE_ANDROID, &attributes[0], "order");
    (void)fd.release();                                                     // It is the driver's from here on.
    const Ref<SyncTimeline> kept = SyncTimeline::over(native, sync, true);  // A sync that is waited for may go.
    waits(sync);
    return true;
  });
}

TENON_INLINE UniqueFd export_sync_file(const Context& context) {
  const Ref<detail::Native>& native = detail::egl_context(context, "export_sync_file").native_ref();
  if (!native->device().native_fences)
    throw Error(Code::kUnimplemented, "egl: " + native->device().renderer +
                                          " lacks EGL_ANDROID_native_fence_sync; wait for egl::fence() on the host");
  const EGLint attributes[] = {EGL_SYNC_NATIVE_FENCE_FD_ANDROID, EGL_NO_NATIVE_FENCE_FD_ANDROID, EGL_NONE};
  const EGLSyncKHR sync =
      detail::make_fence(*native, EGL_SYNC_NATIVE_FENCE_ANDROID, &attributes[0], "export_sync_file");
  const Ref<SyncTimeline> kept = SyncTimeline::over(native, sync, true);
  const int fd = detail::calls().eglDupNativeFenceFDANDROID(native->display(), sync);
  if (fd < 0) detail::fail(detail::calls().eglGetError(), "eglDupNativeFenceFDANDROID", "exporting a fence");
  return UniqueFd(fd);
}

}  // namespace egl
}  // namespace v1
}  // namespace tenon
