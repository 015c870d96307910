// SPDX-License-Identifier: Apache-2.0
// VASurfaceID to Frame and back, never copying; pools of surfaces.
#pragma once

#include <va/va.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/vaapi/context.hpp>
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// A display on a DRM node as a context; no window system is needed. @param name  As programs call it; empty: "vaapi".
/// @errors as Display::open.
Context open(const std::string& node = "/dev/dri/renderD128", std::string name = {});

/// An application's initialised VADisplay as a context. It must live until the last frame goes; `keeper` may see to that.
/// @errors kInvalidArgument: null, or no display.
Context wrap(VADisplay display, std::shared_ptr<const void> keeper = nullptr);

/// The VADisplay of a context. @errors kInvalidArgument: no vaapi context.
VADisplay display(const Context& context);

/// Wraps a surface of an application in place. It stays its owner's, and must be kept until the last plane goes, by the owner
/// or by `keeper`. A map of the frame waits for work that was given to the driver before.
/// @param visible  Size, colour and rotation of the picture; 0 and unknown: as the surface has it.
/// @param lease    The use of the surface, as a decoder's frame; returned when the last plane goes.
/// @errors kInvalidArgument: no vaapi context, no such surface; kUnimplemented: the driver hands out no descriptors, a
/// format that Tenon cannot describe; kOutOfRange: a surface smaller than `visible`.
/// @thread any. @cost vaExportSurfaceHandle and what an import of its descriptors costs; SurfaceCache does it once.
Frame wrap(const Context& context, VASurfaceID surface, const FrameInfo& visible = {}, const Lease& lease = {},
           std::shared_ptr<const void> keeper = nullptr);

/// As wrap(), but takes the surface over: it is destroyed when the last plane goes, and also when this fails.
Frame adopt(const Context& context, VASurfaceID surface, const FrameInfo& visible = {});

/// The surface that a frame lies in, valid as long as the frame. @errors kInvalidArgument: an empty frame, or one of
/// another framework.
VASurfaceID surface(const Frame& frame);

/// The point when the driver's work on the frame's surface is done: a sync file where the driver attaches its fences to the
/// dma-buf (so that other drivers can wait for it), else one that vaSyncSurface reaches.
/// @errors kInvalidArgument: as surface(); those of the kernel.
TimelinePoint ready_point(const Frame& frame);

/// Surfaces of an application that recur, as a decoder's do: each is handed out once, and comes back as the same memory with
/// its views. For surfaces that are not destroyed while the cache is there: an id may name another surface after that.
/// @thread distinct objects from distinct threads.
class SurfaceCache {
 public:
  /// @param keeper  Keeps the surfaces; held by the cache and by all memory over them. @errors kInvalidArgument.
  explicit SurfaceCache(Context context, std::shared_ptr<const void> keeper = nullptr);
  /// As vaapi::wrap().
  Frame wrap(VASurfaceID surface, const FrameInfo& visible = {}, const Lease& lease = {});
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
  SurfacePool(const Context& context, const FrameInfo& info, std::size_t limit);
  const FrameInfo& info() const { return info_; }
  /// Surfaces made so far.
  std::size_t size() const { return pool_.size(); }
  /// @errors as vaapi::allocate; kDeadlineExceeded: all are in use.
  Frame acquire(Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

 private:
  FrameInfo info_;
  cpu::Pool pool_;
};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
