// SPDX-License-Identifier: Apache-2.0
// VASurfaceID to Frame and back, never copying; pools of surfaces.
#pragma once

#include <va/va.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/vaapi/context.hpp>
#include <tenon/frameworks/vaapi/edges.hpp>  // IWYU pragma: keep
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// A display on a DRM node as a context; no window system is needed. @param name  As programs call it; empty: "vaapi".
/// @errors as Display::open.
inline Context open(const std::string& node = "/dev/dri/renderD128", std::string name = {}) {
  return Context(make_ref<SurfaceContext>(Display::open(node), name.empty() ? "vaapi" : std::move(name)));
}

/// An application's initialised VADisplay as a context. It must live until the last frame goes; `keeper` may see to that.
/// @errors kInvalidArgument: null, or no display.
inline Context wrap(VADisplay display, std::shared_ptr<const void> keeper = nullptr) {
  return Context(make_ref<SurfaceContext>(Display::wrap(display, std::move(keeper)), "vaapi"));
}

/// The VADisplay of a context. @errors kInvalidArgument: no vaapi context.
inline VADisplay display(const Context& context) {
  return detail::surface_context(context, "display").display()->handle();
}

namespace detail {

/// Notes the work that was given to the driver before: whoever maps the frame waits for it, or hears that it failed.
inline void note_work(SurfaceMemory& first) {
  const TimelinePoint point = first.state()->timeline->next();
  for (std::size_t i = 0; i < first.object_count(); ++i) first.at(i)->hazards().wrote(point);
}

/// What of a surface is seen. @param visible  0 and unknown: as the surface has it.
/// @errors kUnimplemented: a format that Tenon cannot describe; kOutOfRange: more than the surface has.
inline FrameInfo seen(const SurfaceState& state, std::uint64_t modifier, FrameInfo visible) {
  const FormatMapping* mapping = find_mapping(state.fourcc);
  const std::string what =
      state.surface->what() + " (" + std::to_string(state.width_px) + "x" + std::to_string(state.height_px) + " px)";
  if (!mapping) {
    char fourcc[5] = {};
    std::memcpy(fourcc, &state.fourcc, 4);
    throw Error(Code::kUnimplemented, "vaapi: " + what + " has the format " + fourcc + ", which Tenon has no name for");
  }
  visible.format = {mapping->format.fourcc, modifier};
  if (visible.width_px == 0) visible.width_px = state.width_px;
  if (visible.height_px == 0) visible.height_px = state.height_px;
  if (visible.width_px > state.width_px || visible.height_px > state.height_px)
    throw Error(Code::kOutOfRange, "vaapi: " + what + " is smaller than the picture of " +
                                       std::to_string(visible.width_px) + "x" + std::to_string(visible.height_px) +
                                       " px");
  return visible;
}

}  // namespace detail

/// Wraps a surface of an application in place. It stays its owner's, who must keep it until the last plane goes, or give a
/// `keeper` that does. Work that was given to the driver before is waited for by whoever maps the frame.
/// @param visible  Size, colour and rotation of the picture; 0 and unknown: as the surface has it.
/// @param lease    The use of the surface, as a decoder's frame; returned when the last plane goes.
/// @errors kInvalidArgument: no vaapi context, no such surface; kUnimplemented: the driver hands out no descriptors, a
/// format that Tenon cannot describe; kOutOfRange: a surface smaller than `visible`.
/// @thread any. @cost vaExportSurfaceHandle and what an import of its descriptors costs; SurfaceCache does it once.
inline Frame wrap(const Context& context, VASurfaceID surface, const FrameInfo& visible = {}, const Lease& lease = {},
                  std::shared_ptr<const void> keeper = nullptr) {
  const SurfaceContext& surfaces = detail::surface_context(context, "wrap");
  const Ref<SurfaceMemory> memory =
      detail::memory_over(context, Surface::borrow(surfaces.display(), surface, std::move(keeper)));
  const FrameInfo info = detail::seen(*memory->state(), memory->modifier(), visible);
  detail::note_work(*memory);
  return detail::frame_over(memory, info, lease);
}

/// As wrap(), but takes the surface over: it is destroyed when the last plane goes, and also when this fails.
inline Frame adopt(const Context& context, VASurfaceID surface, const FrameInfo& visible = {}) {
  Ref<Surface> owned = Surface::adopt(detail::surface_context(context, "adopt").display(), surface);
  const Ref<SurfaceMemory> memory = detail::memory_over(context, std::move(owned));
  const FrameInfo info = detail::seen(*memory->state(), memory->modifier(), visible);
  detail::note_work(*memory);
  return detail::frame_over(memory, info, {});
}

/// The surface that a frame lies in, valid as long as the frame. @errors kInvalidArgument: an empty frame, or one of
/// another framework.
inline VASurfaceID surface(const Frame& frame) {
  if (frame.plane_count() == 0) throw Error(Code::kInvalidArgument, "vaapi::surface: an empty frame or a batch");
  return detail::part_of(frame.plane(0)).state->surface->id();
}

/// The point when the driver's work on the frame's surface is done: a sync file where the driver attaches its fences to the
/// dma-buf (so that other drivers can wait for it), else one that vaSyncSurface reaches.
/// @errors kInvalidArgument: as surface(); those of the kernel.
inline TimelinePoint ready_point(const Frame& frame) {
  if (frame.plane_count() == 0) throw Error(Code::kInvalidArgument, "vaapi::ready_point: an empty frame or a batch");
  const detail::SurfacePart part = detail::part_of(frame.plane(0));
  const Memory& memory = *frame.plane(0).memory();
  if (memory.fd_kind() == FdKind::kDmabuf && memory.borrow_fd() >= 0) {
    try {
      const TimelinePoint fences = dmabuf::export_sync_file(memory.borrow_fd(), Access::kRead);
      if (fences.needs_wait()) return fences;
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;  // A kernel before 6.0.
    }
  }
  return part.state->timeline->next();
}

/// Surfaces of an application that recur, as a decoder's do: each is handed out once, and comes back as the same memory with
/// its views. For surfaces that are not destroyed while the cache is there: an id may name another surface after that.
/// @thread distinct objects from distinct threads.
class SurfaceCache {
 public:
  /// @param keeper  Keeps the surfaces; held by the cache and by all memory over them. @errors kInvalidArgument.
  explicit SurfaceCache(Context context, std::shared_ptr<const void> keeper = nullptr)
      : context_(std::move(context)), keeper_(std::move(keeper)) {
    detail::surface_context(context_, "SurfaceCache");
  }
  /// As vaapi::wrap().
  Frame wrap(VASurfaceID surface, const FrameInfo& visible = {}, const Lease& lease = {}) {
    auto known = std::find_if(known_.begin(), known_.end(),
                              [&](const auto& memory) { return memory->state()->surface->id() == surface; });
    if (known == known_.end()) {
      const SurfaceContext& surfaces = detail::surface_context(context_, "wrap");
      known_.push_back(detail::memory_over(context_, Surface::borrow(surfaces.display(), surface, keeper_)));
      known = known_.end() - 1;
    }
    const FrameInfo info = detail::seen(*(*known)->state(), (*known)->modifier(), visible);
    detail::note_work(**known);
    return detail::frame_over(*known, info, lease);
  }
  const Context& context() const { return context_; }
  std::size_t size() const { return known_.size(); }

 private:
  Context context_;
  std::shared_ptr<const void> keeper_;
  std::vector<Ref<SurfaceMemory>> known_;
};

/// Surfaces of one format and size, reused when their last lease goes and nothing runs on them. @thread as cpu::Pool.
class SurfacePool {
 public:
  /// Makes at most `limit` surfaces, on demand. @errors kInvalidArgument: no vaapi context, a limit of 0.
  SurfacePool(const Context& context, const FrameInfo& info, std::size_t limit)
      : info_(info), pool_(Requirements(), limit, [context, info](const Requirements&) -> Ref<Memory> {
          const SurfaceContext& surfaces = detail::surface_context(context, "SurfacePool");
          return detail::memory_over(context, detail::allocate_surface(surfaces.display(), info));
        }) {
    detail::surface_context(context, "SurfacePool");
  }
  const FrameInfo& info() const { return info_; }
  /// Surfaces made so far.
  std::size_t size() const { return pool_.size(); }
  /// @errors as vaapi::allocate; kDeadlineExceeded: all are in use.
  Frame acquire(Deadline deadline = default_deadline(), Ledger* ledger = nullptr) {
    const cpu::PooledBuffer buffer = pool_.acquire(deadline, ledger);
    const Ref<SurfaceMemory> memory(dynamic_cast<SurfaceMemory*>(buffer.memory.get()));
    FrameInfo made = info_;
    made.format.modifier = memory->modifier();
    return detail::frame_over(memory, made, buffer.lease);
  }

 private:
  FrameInfo info_;
  cpu::Pool pool_;
};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
