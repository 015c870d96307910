// SPDX-License-Identifier: Apache-2.0
// Frame: an image, its planes and their properties.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// "No timestamp". Timestamps are nanoseconds of the stream's own clock.
inline constexpr std::int64_t kNoTimestamp = INT64_MIN;

/// Location of one plane: rows of packed pixels, `pitch_bytes` apart.
struct PlanePlace {
  Ref<Memory> memory;
  std::size_t offset = 0;  ///< Byte offset of the first pixel in `memory`.
  std::size_t pitch_bytes = 0;
};

/// A value: format, at most four planes, timestamp, metadata. Planes are [height, width] tensors, or [height, width,
/// channels] if a plane interleaves several; their byte strides are the pitches. A copy costs two counts per plane.
class TENON_API Frame {
 public:
  Frame() = default;
  /// @errors kInvalidArgument: a plane's count, extents or element type do not fit `info` (both sides named).
  Frame(const FrameInfo& info, std::vector<Tensor> planes, std::int64_t timestamp_ns = kNoTimestamp)
      : Frame(info, std::span(planes), timestamp_ns) {}
  /// Views planes in place, all under `lease`; moves the memories out of `places`. Allocates nothing.
  /// @errors kInvalidArgument: wrong number of planes for the format, no memory, a pitch shorter than a row;
  /// kOutOfRange: a plane that reaches past the end of its memory.
  Frame(const FrameInfo& info, std::span<PlanePlace> places, const Lease& lease = {},
        std::int64_t timestamp_ns = kNoTimestamp);
  /// A batch of frames. Its own plane list is empty.
  explicit Frame(std::vector<Frame> batch);
  /// Allocates host memory for all planes at once, rows aligned to 64 bytes.
  static Frame allocate(const FrameInfo& info);
  /// Lays the planes of `info` out in `memory`, one after another; rows and heights are aligned as `wanted` says.
  static Frame over(const FrameInfo& info, const Ref<Memory>& memory, const Requirements& wanted,
                    const Lease& lease = {});
  /// Bytes that over() needs for `info`.
  static std::size_t size_bytes_for(const FrameInfo& info, const Requirements& wanted);

  explicit operator bool() const { return plane_count_ != 0 || !batch_.empty(); }
  const FrameInfo& info() const { return info_; }
  std::size_t plane_count() const { return plane_count_; }
  /// @errors kOutOfRange
  const Tensor& plane(std::size_t index) const;
  std::span<const Tensor> planes() const { return {planes_.data(), plane_count_}; }
  const std::vector<Frame>& batch() const { return batch_; }
  std::int64_t timestamp_ns() const { return timestamp_ns_; }
  void set_timestamp_ns(std::int64_t value) { timestamp_ns_ = value; }
  /// Created on first use; shared by copies of the frame.
  AnyMap& metadata();
  const AnyMap& metadata() const;
  /// Bytes of all planes, padding not counted.
  std::size_t size_bytes() const;
  /// The same picture with `planes` instead of its own (the views of another context).
  /// Moves the tensors out of `planes`; allocates nothing. @errors as the constructor.
  Frame with_planes(std::span<Tensor> planes) const;
  /// The same frame, each plane through its view. Allocates nothing. @errors kInvalidArgument: not one view per plane.
  Frame through(std::span<const View* const> views) const;

 private:
  Frame(const FrameInfo& info, std::span<Tensor> planes, std::int64_t timestamp_ns);
  void place(std::size_t plane, const PixelFormatInfo& format, PlanePlace& place, const Lease& lease);

  FrameInfo info_;
  std::array<Tensor, 4> planes_;
  std::size_t plane_count_ = 0;
  std::int64_t timestamp_ns_ = kNoTimestamp;
  std::shared_ptr<AnyMap> metadata_;
  std::vector<Frame> batch_;
};

/// Sampling of audio; planar audio is one tensor [channels, samples], interleaved one [samples, channels].
struct AudioInfo {
  ElementType sample = ElementType::kUndefined;
  std::uint32_t channels = 0;
  std::uint32_t rate_hz = 0;
  bool planar = false;
  friend bool operator==(const AudioInfo&, const AudioInfo&) = default;
};

/// Shape of plane `plane`: [h, w] or [h, w, c].
TENON_API Shape plane_shape(const FrameInfo& info, std::size_t plane);

}  // namespace v1
}  // namespace tenon
