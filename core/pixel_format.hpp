// SPDX-License-Identifier: Apache-2.0
// Pixel formats: a DRM fourcc and a 64-bit modifier, with the layout of their planes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

constexpr std::uint32_t fourcc(char a, char b, char c, char d) {
  return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b) << 8 | static_cast<std::uint32_t>(c) << 16 |
         static_cast<std::uint32_t>(d) << 24;
}

inline constexpr std::uint64_t kModifierLinear = 0;
/// "Implicit": only the driver knows the layout. Refused by most devices. @source drm_fourcc.h DRM_FORMAT_MOD_INVALID
inline constexpr std::uint64_t kModifierInvalid = 0x00ffffffffffffffull;

/// A fourcc does not say how pixels are arranged in memory, so the modifier is part of the format.
struct PixelFormat {
  std::uint32_t fourcc = 0;
  std::uint64_t modifier = kModifierLinear;
  friend constexpr bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Names follow memory order, fourccs follow drm_fourcc.h (which names packed RGB by little-endian words).
inline constexpr PixelFormat kGray8{fourcc('R', '8', ' ', ' ')};
inline constexpr PixelFormat kGray16{fourcc('R', '1', '6', ' ')};
inline constexpr PixelFormat kNv12{fourcc('N', 'V', '1', '2')};
inline constexpr PixelFormat kNv21{fourcc('N', 'V', '2', '1')};
inline constexpr PixelFormat kNv16{fourcc('N', 'V', '1', '6')};
inline constexpr PixelFormat kP010{fourcc('P', '0', '1', '0')};
inline constexpr PixelFormat kI420{fourcc('Y', 'U', '1', '2')};
inline constexpr PixelFormat kYv12{fourcc('Y', 'V', '1', '2')};
inline constexpr PixelFormat kI422{fourcc('Y', 'U', '1', '6')};
inline constexpr PixelFormat kI444{fourcc('Y', 'U', '2', '4')};
inline constexpr PixelFormat kYuy2{fourcc('Y', 'U', 'Y', 'V')};
inline constexpr PixelFormat kUyvy{fourcc('U', 'Y', 'V', 'Y')};
inline constexpr PixelFormat kRgb24{fourcc('B', 'G', '2', '4')};      ///< Bytes R, G, B.
inline constexpr PixelFormat kBgr24{fourcc('R', 'G', '2', '4')};      ///< Bytes B, G, R.
inline constexpr PixelFormat kRgba{fourcc('A', 'B', '2', '4')};       ///< Bytes R, G, B, A.
inline constexpr PixelFormat kBgra{fourcc('A', 'R', '2', '4')};       ///< Bytes B, G, R, A.
inline constexpr PixelFormat kRgbx{fourcc('X', 'B', '2', '4')};       ///< Bytes R, G, B, any.
inline constexpr PixelFormat kBgrx{fourcc('X', 'R', '2', '4')};       ///< Bytes B, G, R, any.
inline constexpr PixelFormat kRgbPlanar{fourcc('T', 'R', 'P', '8')};  ///< Planes R, G, B. DRM has none: ours.
inline constexpr PixelFormat kBgrPlanar{fourcc('T', 'B', 'P', '8')};  ///< Planes B, G, R. DRM has none: ours.
inline constexpr PixelFormat kGbrPlanar{fourcc('T', 'G', 'P', '8')};  ///< Planes G, B, R, as FFmpeg's GBRP. Ours.

/// One plane: samples per pixel position and how many pixels share one, as shifts.
struct PlaneLayout {
  std::uint8_t channels;
  std::uint8_t width_shift, height_shift;
};

enum class ColourModel : std::uint8_t { kGray, kYuv, kRgb };

struct PixelFormatInfo {
  PixelFormat format;
  std::string_view name;  ///< "nv12", as the command line takes it.
  ColourModel model;
  ElementType sample;  ///< kU8, or kU16 for samples of more than 8 bits (P010: value in the high bits).
  std::uint8_t plane_count;
  std::array<PlaneLayout, 4> planes;
};

/// The format that Tenon can describe plane by plane; null when unknown. @cost a walk of a short constexpr table.
TENON_API const PixelFormatInfo* find_format(std::uint32_t fourcc);
TENON_API std::optional<PixelFormat> format_from_name(std::string_view name);
/// As find_format. @errors kUnimplemented, naming the fourcc and the formats known.
TENON_API const PixelFormatInfo& format_info(PixelFormat format);
/// "nv12", or "NV12:0x0100000000000001" with a modifier.
TENON_API std::string to_string(PixelFormat format);
TENON_API const PixelFormatInfo* all_formats(std::size_t& count);

/// Matrix from YUV to RGB. @source ITU-T H.273 matrix coefficients.
enum class ColourSpace : std::uint8_t { kUnknown, kBt601, kBt709, kBt2020, kSmpte240m };
enum class ColourRange : std::uint8_t { kUnknown, kLimited, kFull };

/// What must be done to a stored picture to make it upright: how far it is turned clockwise, after it was mirrored left to right if
/// the name says so. Phones write this into videos and photographs instead of moving the pixels; EXIF numbers the eight values 1, 6,
/// 3, 8, 2, 7, 4, 5.
enum class Rotation : std::uint8_t { kNone, k90, k180, k270, kMirrored, kMirrored90, kMirrored180, kMirrored270 };
/// Degrees of the turn.
constexpr unsigned degrees(Rotation rotation) { return 90u * (static_cast<unsigned>(rotation) & 3u); }
constexpr bool is_mirrored(Rotation rotation) { return rotation >= Rotation::kMirrored; }
/// True when width and height are swapped.
constexpr bool is_quarter_turn(Rotation rotation) { return (static_cast<unsigned>(rotation) & 1u) != 0; }
/// "turned by 90 degrees", "mirrored", "mirrored and turned by 180 degrees"; empty for kNone.
TENON_API std::string to_string(Rotation rotation);

/// Properties of an image, independent of its memory.
struct FrameInfo {
  PixelFormat format;
  std::uint32_t width_px = 0, height_px = 0;         ///< As stored in the planes.
  ColourSpace colour_space = ColourSpace::kUnknown;  ///< Unknown: 709 from 720 rows up, else 601, as decoders assume.
  ColourRange colour_range = ColourRange::kUnknown;  ///< Unknown: limited for YUV, full for RGB and grey.
  Rotation rotation = Rotation::kNone;               ///< Planes are as stored; consumers rotate the pixels that they
                                                     ///< read.

  /// Extents of the upright picture. Detections and what a model sees use its coordinates, crop() those of the planes;
  /// orientation.hpp converts.
  std::uint32_t upright_width_px() const { return is_quarter_turn(rotation) ? height_px : width_px; }
  std::uint32_t upright_height_px() const { return is_quarter_turn(rotation) ? width_px : height_px; }
  friend bool operator==(const FrameInfo&, const FrameInfo&) = default;
};

/// Extents of plane `plane` of a picture of `info`; sub-sampled extents round up.
struct PlaneExtent {
  std::uint32_t width_px = 0, height_px = 0;
  std::uint32_t channels = 0;
  std::size_t row_bytes = 0;
};
TENON_API PlaneExtent plane_extent(const FrameInfo& info, std::size_t plane);
/// As above, for callers that already have `format` = format_info(info.format). Precondition: plane <
/// format.plane_count.
inline PlaneExtent plane_extent(const FrameInfo& info, const PixelFormatInfo& format, std::size_t plane) {
  const PlaneLayout& layout = format.planes[plane];
  const auto scaled = [](std::uint32_t size, int shift) {
    return static_cast<std::uint32_t>((std::uint64_t{size} + (std::uint64_t{1} << shift) - 1) >> shift);
  };
  PlaneExtent extent{scaled(info.width_px, layout.width_shift), scaled(info.height_px, layout.height_shift),
                     layout.channels, 0};
  // YUYV and UYVY store two pixels in four bytes: an odd width is rounded up to a pair.
  const bool pairs = info.format.fourcc == kYuy2.fourcc || info.format.fourcc == kUyvy.fourcc;
  if (pairs) extent.width_px = (extent.width_px + 1) & ~1u;
  extent.row_bytes = std::size_t{extent.width_px} * extent.channels * size_bytes(format.sample);
  return extent;
}
/// Applies the rules of FrameInfo for "unknown".
TENON_API ColourSpace resolved_colour_space(const FrameInfo& info);
TENON_API ColourRange resolved_colour_range(const FrameInfo& info);

}  // namespace v1
}  // namespace tenon
