// SPDX-License-Identifier: Apache-2.0
// FFmpeg's pixel formats, colours and rotations in Tenon's terms, and back.
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

extern "C" {
#include <libavutil/display.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

TENON_INLINE const FormatMapping* find_mapping(AVPixelFormat format) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.av == format) return &mapping;
  }
  return nullptr;
}

TENON_INLINE const FormatMapping* find_mapping(PixelFormat format) {
  if (format.modifier != kModifierLinear) return nullptr;
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.format == format) return &mapping;
  }
  return nullptr;
}

TENON_INLINE std::string to_string(AVPixelFormat format) {
  const char* name = av_get_pix_fmt_name(format);
  return name ? name : "unknown (" + std::to_string(static_cast<int>(format)) + ")";
}

TENON_INLINE ColourSpace colour_space(AVColorSpace space) {
  switch (space) {
    case AVCOL_SPC_BT709:
      return ColourSpace::kBt709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return ColourSpace::kBt601;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return ColourSpace::kBt2020;
    case AVCOL_SPC_SMPTE240M:
      return ColourSpace::kSmpte240m;
    default:
      return ColourSpace::kUnknown;
  }
}

TENON_INLINE AVColorSpace av_colour_space(ColourSpace space) {
  switch (space) {
    case ColourSpace::kBt709:
      return AVCOL_SPC_BT709;
    case ColourSpace::kBt601:
      return AVCOL_SPC_SMPTE170M;
    case ColourSpace::kBt2020:
      return AVCOL_SPC_BT2020_NCL;
    case ColourSpace::kSmpte240m:
      return AVCOL_SPC_SMPTE240M;
    case ColourSpace::kUnknown:
      break;
  }
  return AVCOL_SPC_UNSPECIFIED;
}

TENON_INLINE ColourRange colour_range(AVColorRange range) {
  if (range == AVCOL_RANGE_MPEG) return ColourRange::kLimited;
  return range == AVCOL_RANGE_JPEG ? ColourRange::kFull : ColourRange::kUnknown;
}

TENON_INLINE AVColorRange av_colour_range(ColourRange range) {
  if (range == ColourRange::kLimited) return AVCOL_RANGE_MPEG;
  return range == ColourRange::kFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED;
}

namespace detail {

TENON_INLINE FrameInfo make_info(const FormatMapping& mapping, int width, int height, AVColorSpace space,
                                 AVColorRange range) {
  FrameInfo info;
  info.format = mapping.format;
  info.width_px = static_cast<std::uint32_t>(width);
  info.height_px = static_cast<std::uint32_t>(height);
  info.colour_space = ffmpeg::colour_space(space);
  info.colour_range = mapping.full_range ? ColourRange::kFull : ffmpeg::colour_range(range);
  return info;
}

/// Formats that GStreamer and VA-API lack.
inline constexpr PixelFormat kFfmpegsOwn[] = {
    kGray9,    kGray10,   kGray12,   kGray14,  kGrayA8,  kGrayA16, kRgb48,   kBgr48,   kGbr9,     kGbr14,
    kGbr16,    kGbra16,   kI440,     kI440p10, kI440p12, kI420p9,  kI422p9,  kI444p9,  kI420p14,  kI422p14,
    kI444p14,  kI420p16,  kI422p16,  kI422a,   kI444a,   kI420ap9, kI422ap9, kI444ap9, kI422ap12, kI444ap12,
    kI420ap16, kI422ap16, kI444ap16, kNv20,    kNv42,    kP210,    kP216,    kP410,    kP416,
};

TENON_INLINE const FormatMapping* find_common(AVPixelFormat format) {
  const FormatMapping* const mapping = find_mapping(format);
  if (!mapping || !is_readable(mapping->format) || is_big_endian(mapping->format)) return nullptr;
  return std::ranges::find(kFfmpegsOwn, mapping->format) == std::end(kFfmpegsOwn) ? mapping : nullptr;
}

TENON_INLINE std::string reason_against(AVPixelFormat format) {
  const AVPixFmtDescriptor* const descriptor = av_pix_fmt_desc_get(format);
  const std::uint64_t flags = descriptor ? descriptor->flags : 0;
  if (flags & AV_PIX_FMT_FLAG_PAL) return "its samples are places in a palette";
  if (flags & AV_PIX_FMT_FLAG_BITSTREAM) return "several of its pixels share a byte";
  if (flags & AV_PIX_FMT_FLAG_BAYER) return "its samples are a sensor's mosaic";
  if (flags & AV_PIX_FMT_FLAG_HWACCEL) return "its pixels lie on a device";
  if (std::string_view(to_string(format)).starts_with("xyz")) return "its colours are CIE XYZ, not RGB or YUV";
  return "no Tenon format has these planes";
}

inline constexpr std::size_t kMatrixBytes = 9 * sizeof(std::int32_t);

/// None for matrices that rotate by other than quarter turns: such pictures stay as stored. A matrix that mirrors is one that rotates,
/// applied to a picture whose columns have changed sides.
TENON_INLINE Rotation rotation_of_matrix(const void* data) {
  std::int32_t matrix[9];
  std::memcpy(matrix, data, kMatrixBytes);
  const double determinant = static_cast<double>(matrix[0]) * matrix[4] - static_cast<double>(matrix[1]) * matrix[3];
  const bool mirrors = determinant < 0;
  if (mirrors) matrix[0] = -matrix[0], matrix[1] = -matrix[1];
  const double clockwise = -av_display_rotation_get(matrix);
  if (determinant == 0 || !std::isfinite(clockwise)) return Rotation::kNone;
  const long quarters = std::lround(clockwise / 90);
  if (std::abs(clockwise - 90.0 * static_cast<double>(quarters)) > 1) return Rotation::kNone;
  return static_cast<Rotation>((quarters % 4 + 4) % 4 + (mirrors ? 4 : 0));
}

TENON_INLINE void write_matrix(Rotation rotation, void* data) {
  std::int32_t matrix[9];
  av_display_rotation_set(matrix, degrees(rotation));
  if (is_mirrored(rotation)) matrix[0] = -matrix[0], matrix[1] = -matrix[1];
  std::memcpy(data, matrix, kMatrixBytes);
}

}  // namespace detail

TENON_INLINE Rotation rotation_of(const AVFrame& frame) {
  const AVFrameSideData* side = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  return side && side->size >= detail::kMatrixBytes ? detail::rotation_of_matrix(side->data) : Rotation::kNone;
}

TENON_INLINE Rotation rotation_of(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* side = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return side && side->size >= detail::kMatrixBytes ? detail::rotation_of_matrix(side->data) : Rotation::kNone;
#else
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return data && size >= detail::kMatrixBytes ? detail::rotation_of_matrix(data) : Rotation::kNone;
#endif
}

TENON_INLINE void set_rotation(AVFrame& frame, Rotation rotation) {
  if (rotation_of(frame) == rotation) return;
  av_frame_remove_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  if (rotation == Rotation::kNone) return;
  AVFrameSideData* side = av_frame_new_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX, detail::kMatrixBytes);
  if (!side) throw detail::make_error(AVERROR(ENOMEM), "FFmpeg: no side data", "av_frame_new_side_data");
  detail::write_matrix(rotation, side->data);
}

TENON_INLINE void set_rotation(AVStream& stream, Rotation rotation) {
  if (rotation == Rotation::kNone) return;
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  AVPacketSideData* side =
      av_packet_side_data_new(&stream.codecpar->coded_side_data, &stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX, detail::kMatrixBytes, 0);
  std::uint8_t* data = side ? side->data : nullptr;
#else
  std::uint8_t* data = av_stream_new_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, detail::kMatrixBytes);
#endif
  if (!data) throw detail::make_error(AVERROR(ENOMEM), "FFmpeg: no side data", "av_stream_new_side_data");
  detail::write_matrix(rotation, data);
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
