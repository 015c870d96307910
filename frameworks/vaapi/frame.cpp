// SPDX-License-Identifier: Apache-2.0
// VASurfaceID to Frame and back; pools of surfaces; the displays of this machine.
#include <tenon/frameworks/vaapi/frame.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/vaapi/contexts.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

TENON_INLINE Context open(const std::string& node, std::string name) {
  return Context(make_ref<SurfaceContext>(Display::open(node), name.empty() ? "vaapi" : std::move(name)));
}

TENON_INLINE Context wrap(VADisplay display, std::shared_ptr<const void> keeper) {
  return Context(make_ref<SurfaceContext>(Display::wrap(display, std::move(keeper)), "vaapi"));
}

TENON_INLINE VADisplay display(const Context& context) {
  return detail::surface_context(context, "display").display()->handle();
}

namespace detail {

/// Notes the work that was given to the driver before: a map of the frame waits for it, or reports that it failed.
TENON_INLINE void note_work(SurfaceMemory& first) {
  const TimelinePoint point = first.state()->timeline->next();
  for (std::size_t i = 0; i < first.object_count(); ++i) first.at(i)->hazards().wrote(point);
}

/// What of a surface is seen. @param visible  0 and unknown: as the surface has it.
/// @errors kUnimplemented: a format that Tenon cannot describe; kOutOfRange: more than the surface has.
TENON_INLINE FrameInfo seen(const SurfaceState& state, std::uint64_t modifier, FrameInfo visible) {
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

TENON_INLINE Frame wrap(const Context& context, VASurfaceID surface, const FrameInfo& visible, const Lease& lease,
                        std::shared_ptr<const void> keeper) {
  const SurfaceContext& surfaces = detail::surface_context(context, "wrap");
  const Ref<SurfaceMemory> memory =
      detail::memory_over(context, Surface::borrow(surfaces.display(), surface, std::move(keeper)));
  const FrameInfo info = detail::seen(*memory->state(), memory->modifier(), visible);
  detail::note_work(*memory);
  return detail::frame_over(memory, info, lease);
}

TENON_INLINE Frame adopt(const Context& context, VASurfaceID surface, const FrameInfo& visible) {
  Ref<Surface> owned = Surface::adopt(detail::surface_context(context, "adopt").display(), surface);
  const Ref<SurfaceMemory> memory = detail::memory_over(context, std::move(owned));
  const FrameInfo info = detail::seen(*memory->state(), memory->modifier(), visible);
  detail::note_work(*memory);
  return detail::frame_over(memory, info, {});
}

TENON_INLINE VASurfaceID surface(const Frame& frame) {
  if (frame.plane_count() == 0) throw Error(Code::kInvalidArgument, "vaapi::surface: an empty frame or a batch");
  return detail::part_of(frame.plane(0)).state->surface->id();
}

TENON_INLINE TimelinePoint ready_point(const Frame& frame) {
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

TENON_INLINE SurfaceCache::SurfaceCache(Context context, std::shared_ptr<const void> keeper)
    : context_(std::move(context)), keeper_(std::move(keeper)) {
  detail::surface_context(context_, "SurfaceCache");
}

TENON_INLINE Frame SurfaceCache::wrap(VASurfaceID surface, const FrameInfo& visible, const Lease& lease) {
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

TENON_INLINE SurfacePool::SurfacePool(const Context& context, const FrameInfo& info, std::size_t limit)
    : info_(info), pool_(Requirements(), limit, [context, info](const Requirements&) -> Ref<Memory> {
        const SurfaceContext& surfaces = detail::surface_context(context, "SurfacePool");
        return detail::memory_over(context, detail::allocate_surface(surfaces.display(), info));
      }) {
  detail::surface_context(context, "SurfacePool");
}

TENON_INLINE Frame SurfacePool::acquire(Deadline deadline, Ledger* ledger) {
  const cpu::PooledBuffer buffer = pool_.acquire(deadline, ledger);
  const Ref<SurfaceMemory> memory(dynamic_cast<SurfaceMemory*>(buffer.memory.get()));
  FrameInfo made = info_;
  made.format.modifier = memory->modifier();
  return detail::frame_over(memory, made, buffer.lease);
}

namespace detail {

TENON_INLINE std::vector<Context> find_contexts() {
  std::vector<Context> found;
  // The kernel numbers render nodes from 128 on. Opening tells whether one is there: a stand-in has no entry in /dev/dri.
  for (int number = 128; number < 192; ++number) {
    try {
      const std::string name = found.empty() ? "vaapi" : "vaapi." + std::to_string(found.size());
      found.push_back(vaapi::open("/dev/dri/renderD" + std::to_string(number), name));
    } catch (const Error&) {
      // Skips nodes that are not there, not ours to open, or without a driver.
    }
  }
  return found;
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

TENON_INLINE std::string why_none() {
  return "no render node (/dev/dri/renderD128...) with a driver; `tenon va-env -- PROGRAM` brings the software "
         "one";
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
