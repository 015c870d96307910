// SPDX-License-Identifier: Apache-2.0
// Frames of dma-bufs: import and export of planes over one or more objects, with a fourcc and a 64-bit modifier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>  // IWYU pragma: export
#include <tenon/frameworks/dmabuf/import_cache.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

/// A dma-buf that planes lie in. @source FFmpeg's AVDRMObjectDescriptor
struct FrameObject {
  int fd = -1;                 ///< Still owned by the caller.
  std::size_t size_bytes = 0;  ///< Minimum; 0: any.
};

/// Where a plane lies. @source FFmpeg's AVDRMPlaneDescriptor
struct FramePlane {
  std::size_t object = 0;        ///< Index into the objects.
  std::size_t offset_bytes = 0;  ///< Offset of the first row in the object.
  std::size_t pitch_bytes = 0;   ///< Distance between rows.
};

inline constexpr std::uint64_t kLinearOnly[] = {kModifierLinear};

/// Imports a frame over dma-bufs made elsewhere (a camera, a decoder, a compositor). Never copies. Planes over one
/// object share one Memory, even when they come by different descriptors.
///
/// @param objects   The dma-bufs. Descriptors are duplicated and stay the caller's, on failure too.
/// @param planes    One per plane of `info.format`: which object, offset, pitch.
/// @param acquire   The point after which the producer has finished writing; noted in hazards(), and attached to the
/// dma-bufs as a fence if it is a sync file, so that drivers wait for it. Fences that drivers attach, before
/// or after the import, are not noted: they wait for each other's, and each access of the CPU polls for
/// them when it begins.
/// @param accepted  Modifiers that the consumer understands. Only linear memory can be mapped for the CPU.
/// For other modifiers the driver defines what pitches and offsets mean, so bounds are checked as if
/// linear.
/// @param cache     Cache of the stream that the frames come from, so that recurring buffers are imported once.
/// @errors kUnimplemented: a modifier not accepted (those accepted are listed), an unknown fourcc; kInvalidArgument:
/// wrong number of planes, no such object, a pitch below a row, overlapping planes, a descriptor that is no memory;
/// kOutOfRange: a plane or size past its object.
/// @thread any; does not block. @cost per object one fcntl and the cost of an import.
/// @source FFmpeg's AVDRMFrameDescriptor; linux/dma-buf.h; drm_fourcc.h
Frame import_frame(const FrameInfo& info, std::span<const FrameObject> objects, std::span<const FramePlane> planes,
                   const TimelinePoint& acquire = TimelinePoint::ready(),
                   std::span<const std::uint64_t> accepted = kLinearOnly, ImportCache* cache = nullptr);

/// A frame for other APIs to import, structured like FFmpeg's AVDRMFrameDescriptor. Owns its descriptors.
struct FrameDescriptor {
  struct Object {
    UniqueFd fd;
    std::size_t size_bytes = 0;
    bool stand_in = false;  ///< A memfd: devices refuse it.
  };
  FrameInfo info;  ///< fourcc and modifier are info.format.
  std::vector<Object> objects;
  std::vector<FramePlane> planes;
  /// The point after which the frame may be read; TimelinePoint::ready() for finished work.
  TimelinePoint acquire;
};

/// Exports a frame of dmabuf tensors: one descriptor per allocation, and each plane's object, offset and pitch. The
/// frame must outlive the use only when its memory is pooled: descriptors keep pages alive, but not leases.
/// Sync files among the unfinished work are attached to the dma-bufs, so that drivers wait for them, and merged into
/// `acquire`. A single point of another kind is handed out as it is; for several the host waits.
/// @param ledger  Where waits are booked; null: the process ledger.
/// @errors kInvalidArgument: no dmabuf tensors (map the frame to dmabuf::context() first); kDeadlineExceeded: a writer
/// is late; the failure of a writer that failed; kResourceExhausted: no descriptors left.
FrameDescriptor export_frame(const Frame& frame, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
