// SPDX-License-Identifier: Apache-2.0
// PipeWire's raw video formats, and where planes lie in a buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/pixel_format.hpp>

struct spa_pod;

namespace tenon {
inline namespace v1 {
namespace pipewire {

/// SPA's number of a format (enum spa_video_format); nothing where SPA has none of that layout.
std::optional<std::uint32_t> to_spa(PixelFormat format);
/// Nothing where Tenon cannot describe it (10-bit packed, tiled).
std::optional<PixelFormat> from_spa(std::uint32_t format);

/// enum spa_meta_videotransform_value says what was done to the pixels, Rotation what makes them upright.
Rotation rotation_of(std::uint32_t transform);
std::uint32_t transform_of(Rotation rotation);

/// What both ends of a link agreed on.
struct Format {
  FrameInfo info;
  double fps = 0;             ///< 0: not said, or variable.
  bool has_modifier = false;  ///< The memory must be a dma-buf with pixels of info.format.modifier.
};

/// What to accept. Zeros: anything.
struct WantedFormat {
  std::vector<PixelFormat> formats = {};  ///< The best first; empty: all that both sides can describe.
  std::uint32_t width_px = 0, height_px = 0;
  double fps = 0;
};

/// Where planes lie, from the first byte of a memory.
struct Layout {
  std::array<std::size_t, 4> offset{}, pitch_bytes{};
  std::size_t planes = 0;
  std::size_t size_bytes = 0;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The layout of a picture in one block, whose planes follow each other. A chunk says the pitch of the first plane only; the rest is
/// a convention, which is GStreamer's: pitches are multiples of 4 bytes, and planes before a sub-sampled one have even heights.
/// @param pitch_bytes  That of the first plane; 0: the least one.
/// @errors kInvalidArgument: a pitch that is shorter than a row.
Layout one_block(const FrameInfo& info, std::size_t pitch_bytes = 0);

namespace detail {

/// A parameter (a SPA pod) in memory of its own.
class Pod {
 public:
  const spa_pod* get() const { return reinterpret_cast<const spa_pod*>(bytes_.data()); }

 private:
  friend class PodBuilder;
  std::vector<std::uint64_t> bytes_;
};

/// Formats to choose from (SPA_PARAM_EnumFormat). @param modifiers  Layouts of dma-bufs; they are offered first, and besides them
/// memory without a modifier.
std::vector<Pod> format_choices(const WantedFormat& wanted, std::span<const std::uint64_t> modifiers);
/// One format (SPA_PARAM_EnumFormat), at any rate. @errors kUnimplemented: PipeWire has none like it.
std::vector<Pod> one_format(const FrameInfo& info, double fps, bool has_modifier);
/// @errors kUnimplemented: what Tenon cannot describe; kInvalidArgument: sizes of 0, or above 65,535.
Format parse_format(const spa_pod* pod);

/// How many buffers of which size, of memory of which types (bits of enum spa_data_type), in how many blocks.
struct BufferWish {
  std::uint32_t count = 8, least = 2, most = 32;
  std::uint32_t least_blocks = 1, most_blocks = 1;
  std::size_t size_bytes = 0, pitch_bytes = 0;  ///< The least size of a block; the usual pitch.
  std::uint32_t types = 0;
};
/// SPA_PARAM_Buffers, the best first, and SPA_PARAM_Meta for the header, the crop and the transform.
std::vector<Pod> buffer_params(std::span<const BufferWish> wishes);

}  // namespace detail
}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
