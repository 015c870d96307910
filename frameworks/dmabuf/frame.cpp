// SPDX-License-Identifier: Apache-2.0
// Frames over dma-bufs of others, checked before anything is imported, and the cache of such imports.
#include <tenon/frameworks/dmabuf/frame.hpp>

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

TENON_INLINE Ref<Memory> ImportCache::import(int fd, std::size_t size_bytes, std::uint64_t modifier) {
  struct stat status {};
  if (native::fstat(fd, &status) == 0) {
    const MemoryIdentity identity{MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                                  static_cast<std::uint64_t>(status.st_ino)};
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!(kept_[i]->identity() == identity) || kept_[i]->size_bytes() < size_bytes ||
          kept_[i]->modifier() != modifier)
        continue;
      std::rotate(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(i),
                  kept_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return kept_.front();
    }
  }
  Ref<DmabufMemory> made = dmabuf::import(UniqueFd::duplicate(fd), size_bytes, modifier);
  if (kept_.size() == limit_) kept_.pop_back();
  kept_.insert(kept_.begin(), made);
  return made;
}

namespace detail {

TENON_INLINE std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

[[noreturn]] TENON_INLINE void refuse_frame(const FrameInfo& info, Code code, const std::string& reason) {
  throw Error(code, "dmabuf: frame " + to_string(info.format) + " of " + std::to_string(info.width_px) + "x" +
                        std::to_string(info.height_px) + " px: " + reason);
}

TENON_INLINE void check_modifier(const FrameInfo& info, std::span<const std::uint64_t> accepted) {
  std::string list;
  for (std::uint64_t modifier : accepted) {
    if (modifier == info.format.modifier) return;
    list += (list.empty() ? "" : ", ") + hex(modifier);
  }
  refuse_frame(info, Code::kUnimplemented,
               (info.format.modifier == kModifierInvalid ? std::string("its modifier is implicit, so only its driver "
                                                                       "knows how pixels lie")
                                                         : "modifier " + hex(info.format.modifier)) +
                   "; accepted here: " + list);
}

/// Bytes of a plane from its first to its last. Padding after the last row need not exist.
/// @errors kInvalidArgument: a pitch shorter than a row, odd for its samples, or absurd; kOutOfRange: past its object.
TENON_INLINE std::size_t checked_plane_bytes(const FrameInfo& info, std::size_t p, const FramePlane& plane,
                                             std::size_t object_bytes) {
  const PlaneExtent extent = plane_extent(info, p);
  const std::size_t sample = size_bytes(format_info(info.format).sample);
  const std::string label = "plane " + std::to_string(p);
  if (plane.pitch_bytes < extent.row_bytes || plane.pitch_bytes > std::size_t{1} << 40) {
    refuse_frame(info, Code::kInvalidArgument,
                 label + " has a pitch of " + std::to_string(plane.pitch_bytes) + " bytes, a row has " +
                     std::to_string(extent.row_bytes));
  }
  if (plane.pitch_bytes % sample != 0 || plane.offset_bytes % sample != 0) {
    refuse_frame(info, Code::kInvalidArgument,
                 label + ": pitch " + std::to_string(plane.pitch_bytes) + " and offset " +
                     std::to_string(plane.offset_bytes) + " must be multiples of its samples of " +
                     std::to_string(sample) + " bytes");
  }
  const std::size_t bytes = plane.pitch_bytes * (extent.height_px - 1) + extent.row_bytes;  // Below 2^61.
  if (plane.offset_bytes > object_bytes || bytes > object_bytes - plane.offset_bytes) {
    refuse_frame(info, Code::kOutOfRange,
                 label + " needs " + std::to_string(bytes) + " bytes at " + std::to_string(plane.offset_bytes) +
                     ", its object " + std::to_string(plane.object) + " has " + std::to_string(object_bytes));
  }
  return bytes;
}

/// True when two planes of one object share bytes. Interleaved rows (one pitch, columns side by side) do not.
TENON_INLINE bool overlap(const FramePlane& a, std::size_t a_bytes, std::size_t a_row, const FramePlane& b,
                          std::size_t b_bytes, std::size_t b_row) {
  if (a.offset_bytes >= b.offset_bytes + b_bytes || b.offset_bytes >= a.offset_bytes + a_bytes) return false;
  if (a.pitch_bytes != b.pitch_bytes) return true;
  const std::size_t pitch = a.pitch_bytes, a_column = a.offset_bytes % pitch, b_column = b.offset_bytes % pitch;
  const bool inside = a_column + a_row <= pitch && b_column + b_row <= pitch;
  return !inside || (a_column < b_column + b_row && b_column < a_column + a_row);
}

/// One memory per allocation: descriptors of the same dma-buf share it. @errors as DmabufMemory::import
TENON_INLINE std::vector<Ref<Memory>> import_objects(std::span<const FrameObject> objects, std::uint64_t modifier,
                                                     ImportCache* cache) {
  std::vector<Ref<Memory>> memories;
  for (const FrameObject& object : objects) {
    Ref<Memory> memory;
    if (cache)
      memory = cache->import(object.fd, object.size_bytes, modifier);
    else
      memory = dmabuf::import(UniqueFd::duplicate(object.fd), object.size_bytes, modifier);
    for (const Ref<Memory>& other : memories) {
      if (other->identity() == memory->identity()) {
        memory = other;
        break;
      }
    }
    memories.push_back(std::move(memory));
  }
  return memories;
}

TENON_INLINE TensorInfo plane_info(const FrameInfo& info, std::size_t p, std::size_t pitch_bytes) {
  const ElementType type = format_info(info.format).sample;
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(type));
  TensorInfo plane{type, plane_shape(info, p), {}};
  plane.strides.push_back(static_cast<std::ptrdiff_t>(pitch_bytes));
  if (plane.shape.size() == 3) plane.strides.push_back(sample * static_cast<std::ptrdiff_t>(plane.shape[2]));
  plane.strides.push_back(sample);
  return plane;
}

TENON_INLINE void check_planes(const FrameInfo& info, const std::vector<Ref<Memory>>& memories,
                               std::span<const FramePlane> planes) {
  std::array<std::size_t, 4> bytes{};
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const FramePlane& plane = planes[p];
    bytes[p] = checked_plane_bytes(info, p, plane, memories[plane.object]->size_bytes());
    for (std::size_t q = 0; q < p; ++q) {
      if (memories[planes[q].object] != memories[plane.object]) continue;
      if (overlap(planes[q], bytes[q], plane_extent(info, q).row_bytes, plane, bytes[p],
                  plane_extent(info, p).row_bytes)) {
        refuse_frame(info, Code::kInvalidArgument,
                     "planes " + std::to_string(q) + " and " + std::to_string(p) + " overlap in object " +
                         std::to_string(plane.object));
      }
    }
  }
}

/// One point for all of `points`: the one that is unfinished, or all sync files merged, after waiting for the others.
/// @errors as Hazards::wait_for
TENON_INLINE TimelinePoint one_point(const std::vector<TimelinePoint>& points, Deadline deadline, Ledger* ledger) {
  if (points.size() == 1) return points.front();
  TimelinePoint merged;
  for (const TimelinePoint& point : points) {
    if (is_sync_file(point))
      merged = merge_sync_files(merged, point);
    else
      point.wait(deadline, ledger);
  }
  return merged;
}

}  // namespace detail

TENON_INLINE Frame import_frame(const FrameInfo& info, std::span<const FrameObject> objects,
                                std::span<const FramePlane> planes, const TimelinePoint& acquire,
                                std::span<const std::uint64_t> accepted, ImportCache* cache) {
  const PixelFormatInfo& format = format_info(info.format);
  if (info.width_px == 0 || info.height_px == 0 || info.width_px > 1u << 20 || info.height_px > 1u << 20)
    detail::refuse_frame(info, Code::kInvalidArgument, "extents must be 1..1048576");
  detail::check_modifier(info, accepted);
  if (planes.size() != format.plane_count) {
    detail::refuse_frame(
        info, Code::kInvalidArgument,
        "got " + std::to_string(planes.size()) + " planes, expected " + std::to_string(format.plane_count));
  }
  for (std::size_t p = 0; p < planes.size(); ++p) {
    if (planes[p].object >= objects.size()) {
      detail::refuse_frame(info, Code::kInvalidArgument,
                           "plane " + std::to_string(p) + " lies in object " + std::to_string(planes[p].object) +
                               " of " + std::to_string(objects.size()));
    }
  }
  const std::vector<Ref<Memory>> memories = detail::import_objects(objects, info.format.modifier, cache);
  detail::check_planes(info, memories, planes);
  std::vector<Tensor> tensors;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const Ref<Memory>& memory = memories[planes[p].object];
    if (acquire.timeline() && (p == 0 || memory != tensors.back().memory())) {
      memory->hazards().wrote(acquire);
      if (memory->fd_kind() == FdKind::kDmabuf) detail::attach_fences(*memory, memory->borrow_fd());
    }
    tensors.emplace_back(detail::plane_info(info, p, planes[p].pitch_bytes), memory, planes[p].offset_bytes);
  }
  return Frame(info, std::move(tensors));
}

TENON_INLINE FrameDescriptor export_frame(const Frame& frame, Deadline deadline, Ledger* ledger) {
  if (frame.plane_count() == 0) throw Error(Code::kInvalidArgument, "dmabuf: an empty frame cannot be exported");
  FrameDescriptor out;
  out.info = frame.info();
  std::vector<const Memory*> memories;
  std::vector<TimelinePoint> writers;
  for (const Tensor& plane : frame.planes()) {
    const detail::Place place = detail::place_of(plane);
    const Memory* memory = plane.memory().get();
    const auto known = std::find(memories.begin(), memories.end(), memory);
    const auto object = static_cast<std::size_t>(known - memories.begin());
    if (known == memories.end()) {
      memories.push_back(memory);
      out.objects.push_back({UniqueFd::duplicate(place.fd), memory->size_bytes(), place.stand_in});
      for (const TimelinePoint& written : memory->pending(Access::kRead)) {
        if (written.state() == PointState::kFailed) written.wait(deadline, ledger);  // Throws its failure.
        if (std::find(writers.begin(), writers.end(), written) == writers.end()) writers.push_back(written);
      }
      if (!place.stand_in) detail::attach_fences(*memory, place.fd);  // Else `acquire` has them.
    }
    out.planes.push_back({object, plane.offset(), static_cast<std::size_t>(plane.byte_strides()[0])});
  }
  out.acquire = detail::one_point(writers, deadline, ledger);
  return out;
}

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
