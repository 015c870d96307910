// SPDX-License-Identifier: Apache-2.0
// Frames: checks, and laying planes out in one allocation.
#include <tenon/core/frame.hpp>

#include <algorithm>

#include <tenon/core/host.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr std::uint32_t kMaxExtentPx = 1u << 20;

TENON_INLINE std::size_t round_up(std::size_t value, std::size_t to) {
  return to <= 1 ? value : (value + to - 1) / to * to;
}

TENON_INLINE void check_extents(const FrameInfo& info) {
  if (info.width_px == 0 || info.height_px == 0 || info.width_px > kMaxExtentPx || info.height_px > kMaxExtentPx) {
    throw Error(Code::kInvalidArgument, "frame " + to_string(info.format) + " of " + std::to_string(info.width_px) +
                                            "x" + std::to_string(info.height_px) + " px: extents must be 1.." +
                                            std::to_string(kMaxExtentPx));
  }
}

/// Computes pitch and first byte of each plane within one allocation; returns the total size.
TENON_INLINE std::size_t lay_out(const FrameInfo& info, const Requirements& wanted, std::array<std::size_t, 4>& pitch,
                                 std::array<std::size_t, 4>& offset) {
  check_extents(info);
  const std::size_t planes = format_info(info.format).plane_count;
  std::size_t end = 0;
  for (std::size_t p = 0; p < planes; ++p) {
    const PlaneExtent extent = plane_extent(info, p);
    pitch[p] = round_up(extent.row_bytes, wanted.pitch_alignment);
    offset[p] = round_up(end, wanted.contiguous ? 1 : wanted.pitch_alignment);
    end = offset[p] + pitch[p] * round_up(extent.height_px, wanted.height_alignment);
  }
  return end + wanted.tail_padding;
}

}  // namespace detail

TENON_INLINE Shape plane_shape(const FrameInfo& info, std::size_t plane) {
  const PlaneExtent extent = plane_extent(info, plane);
  if (extent.channels == 1) return {extent.height_px, extent.width_px};
  return {extent.height_px, extent.width_px, extent.channels};
}

namespace detail {

/// Compared extent by extent, so that no shape is built for a plane that fits.
TENON_INLINE bool fits(const Tensor& plane, ElementType sample, const PlaneExtent& extent) {
  const Shape& shape = plane.shape();
  return plane && plane.element_type() == sample && shape.size() == (extent.channels == 1 ? 2u : 3u) &&
         shape[0] == extent.height_px && shape[1] == extent.width_px &&
         (extent.channels == 1 || shape[2] == extent.channels);
}

TENON_INLINE std::string describe(const FrameInfo& info) {
  return "frame " + to_string(info.format) + " of " + std::to_string(info.width_px) + "x" +
         std::to_string(info.height_px) + " px";
}

TENON_INLINE const PixelFormatInfo& check_planes(const FrameInfo& info, std::size_t count) {
  check_extents(info);
  const PixelFormatInfo& format = format_info(info.format);
  if (count != format.plane_count) {
    throw Error(Code::kInvalidArgument, "frame " + std::string(format.name) + ": got " + std::to_string(count) +
                                            " planes, expected " + std::to_string(format.plane_count));
  }
  return format;
}

}  // namespace detail

TENON_INLINE Frame::Frame(const FrameInfo& info, std::span<Tensor> planes, std::int64_t timestamp_ns)
    : info_(info), plane_count_(planes.size()), timestamp_ns_(timestamp_ns) {
  const PixelFormatInfo& format = detail::check_planes(info, planes.size());
  for (std::size_t p = 0; p < planes.size(); ++p) {
    if (!detail::fits(planes[p], format.sample, plane_extent(info, format, p))) {
      throw Error(Code::kInvalidArgument, detail::describe(info) + ": plane " + std::to_string(p) + " is " +
                                              to_string(planes[p]) + ", expected " + std::string(name(format.sample)) +
                                              " " + to_string(plane_shape(info, p)));
    }
    planes_[p] = std::move(planes[p]);
  }
}

TENON_INLINE Frame::Frame(const FrameInfo& info, std::span<PlanePlace> places, const Lease& lease,
                          std::int64_t timestamp_ns)
    : info_(info), plane_count_(places.size()), timestamp_ns_(timestamp_ns) {
  const PixelFormatInfo& format = detail::check_planes(info, places.size());
  for (std::size_t p = 0; p < places.size(); ++p) place(p, format, places[p], lease);
}

/// Writes the plane's fields directly: Tensor's constructor costs three times as much, per plane and frame.
TENON_INLINE void Frame::place(std::size_t plane, const PixelFormatInfo& format, PlanePlace& place,
                               const Lease& lease) {
  const PlaneExtent extent = plane_extent(info_, format, plane);
  const auto fail = [&](Code code, const std::string& what) {
    return Error(code, detail::describe(info_) + ": plane " + std::to_string(plane) + what);
  };
  if (!place.memory) throw fail(Code::kInvalidArgument, " has no memory");
  if (place.pitch_bytes < extent.row_bytes) {
    throw fail(Code::kInvalidArgument, " has a pitch of " + std::to_string(place.pitch_bytes) + " bytes, a row has " +
                                           std::to_string(extent.row_bytes));
  }
  const std::size_t size = place.memory->size_bytes();
  std::size_t end = 0;
  if (__builtin_mul_overflow(place.pitch_bytes, std::size_t{extent.height_px} - 1, &end) ||
      __builtin_add_overflow(end, extent.row_bytes, &end) || place.offset > size || end > size - place.offset) {
    throw fail(Code::kOutOfRange,
               " at offset " + std::to_string(place.offset) + " with a pitch of " + std::to_string(place.pitch_bytes) +
                   " bytes reaches past the end of its memory of " + std::to_string(size) + " bytes");
  }
  const auto sample = static_cast<std::ptrdiff_t>(tenon::v1::size_bytes(format.sample));
  const auto pitch = static_cast<std::ptrdiff_t>(place.pitch_bytes);
  const std::size_t extents[] = {extent.height_px, extent.width_px, extent.channels};
  const std::ptrdiff_t strides[] = {pitch, sample * static_cast<std::ptrdiff_t>(extent.channels), sample};
  const std::size_t rank = extent.channels == 1 ? 2 : 3;
  Tensor& tensor = planes_[plane];
  tensor.info_.type = format.sample;
  tensor.info_.shape.assign(extents, extents + rank);
  tensor.info_.strides.assign(strides, strides + rank);
  tensor.memory_ = std::move(place.memory);
  tensor.lease_ = lease;
  tensor.offset_ = place.offset;
}

TENON_INLINE Frame::Frame(std::vector<Frame> batch) : batch_(std::move(batch)) {
  if (batch_.empty()) throw Error(Code::kInvalidArgument, "frame batch: needs at least one frame");
  info_ = batch_.front().info();
  timestamp_ns_ = batch_.front().timestamp_ns();
}

TENON_INLINE std::size_t Frame::size_bytes_for(const FrameInfo& info, const Requirements& wanted) {
  std::array<std::size_t, 4> pitch{}, offset{};
  return detail::lay_out(info, wanted, pitch, offset);
}

TENON_INLINE Frame Frame::over(const FrameInfo& info, const Ref<Memory>& memory, const Requirements& wanted,
                               const Lease& lease) {
  std::array<std::size_t, 4> pitch{}, offset{};
  detail::lay_out(info, wanted, pitch, offset);
  std::array<PlanePlace, 4> places;
  const std::size_t count = format_info(info.format).plane_count;
  for (std::size_t p = 0; p < count; ++p) places[p] = {memory, offset[p], pitch[p]};
  return Frame(info, std::span(places).first(count), lease);
}

TENON_INLINE Frame Frame::allocate(const FrameInfo& info) {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  wanted.tail_padding = 64;
  return over(info, HostMemory::allocate(size_bytes_for(info, wanted)), wanted);
}

TENON_INLINE const Tensor& Frame::plane(std::size_t index) const {
  if (index >= plane_count_) {
    throw Error(Code::kOutOfRange, "frame " + to_string(info_.format) + " has " + std::to_string(plane_count_) +
                                       " planes, plane " + std::to_string(index) + " was asked for");
  }
  return planes_[index];
}

TENON_INLINE AnyMap& Frame::metadata() {
  if (!metadata_) metadata_ = std::make_shared<AnyMap>();
  return *metadata_;
}

TENON_INLINE const AnyMap& Frame::metadata() const {
  static const AnyMap* none = new AnyMap;
  return metadata_ ? *metadata_ : *none;
}

TENON_INLINE std::size_t Frame::size_bytes() const {
  std::size_t bytes = 0;
  for (const Tensor& plane : planes()) bytes += plane.size_bytes();
  for (const Frame& frame : batch_) bytes += frame.size_bytes();
  return bytes;
}

TENON_INLINE Frame Frame::through(std::span<const View* const> views) const {
  if (views.size() != plane_count_) {
    throw Error(Code::kInvalidArgument, "frame " + to_string(info_.format) + ": got " + std::to_string(views.size()) +
                                            " views for " + std::to_string(plane_count_) + " planes");
  }
  Frame result = *this;
  for (std::size_t p = 0; p < plane_count_; ++p) result.planes_[p].view_ = views[p];
  return result;
}

TENON_INLINE Frame Frame::with_planes(std::span<Tensor> planes) const {
  Frame result(info_, planes, timestamp_ns_);
  result.metadata_ = metadata_;
  return result;
}

}  // namespace v1
}  // namespace tenon
