// SPDX-License-Identifier: Apache-2.0
// Conversion between FFmpeg's and Tenon's pixel formats, colour spaces and ranges.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// One pair of formats. `planes[i]` is the AVFrame's plane that holds Tenon's plane i: FFmpeg has only GBR planes, and
/// no format of its own for YV12.
struct FormatMapping {
  AVPixelFormat av = AV_PIX_FMT_NONE;
  PixelFormat format;
  std::array<std::uint8_t, 4> planes{0, 1, 2, 3};
  bool full_range = false;  ///< The "J" formats imply full range.
};

namespace detail {

/// The first line with an AVPixelFormat gives its PixelFormat, and the first with a PixelFormat its AVPixelFormat.
inline constexpr FormatMapping kMappings[] = {
    {AV_PIX_FMT_NV12, kNv12},
    {AV_PIX_FMT_NV21, kNv21},
    {AV_PIX_FMT_NV16, kNv16},
    {AV_PIX_FMT_P010LE, kP010},
    {AV_PIX_FMT_YUV420P, kI420},
    {AV_PIX_FMT_YUVJ420P, kI420, {0, 1, 2, 3}, true},
    {AV_PIX_FMT_YUV420P, kYv12, {0, 2, 1, 3}},
    {AV_PIX_FMT_YUV422P, kI422},
    {AV_PIX_FMT_YUVJ422P, kI422, {0, 1, 2, 3}, true},
    {AV_PIX_FMT_YUV444P, kI444},
    {AV_PIX_FMT_YUVJ444P, kI444, {0, 1, 2, 3}, true},
    {AV_PIX_FMT_YUYV422, kYuy2},
    {AV_PIX_FMT_UYVY422, kUyvy},
    {AV_PIX_FMT_GRAY8, kGray8},
    {AV_PIX_FMT_GRAY16LE, kGray16},
    {AV_PIX_FMT_RGB24, kRgb24},
    {AV_PIX_FMT_BGR24, kBgr24},
    {AV_PIX_FMT_RGBA, kRgba},
    {AV_PIX_FMT_BGRA, kBgra},
    {AV_PIX_FMT_RGB0, kRgbx},
    {AV_PIX_FMT_BGR0, kBgrx},
    {AV_PIX_FMT_GBRP, kGbrPlanar},
    {AV_PIX_FMT_GBRP, kRgbPlanar, {2, 0, 1, 3}},
    {AV_PIX_FMT_GBRP, kBgrPlanar, {1, 0, 2, 3}},
};

}  // namespace detail

/// Null if Tenon cannot describe `format`.
inline const FormatMapping* find_mapping(AVPixelFormat format) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.av == format) return &mapping;
  }
  return nullptr;
}

/// Null if FFmpeg has no software format of that layout.
inline const FormatMapping* find_mapping(PixelFormat format) {
  if (format.modifier != kModifierLinear) return nullptr;
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.format == format) return &mapping;
  }
  return nullptr;
}

inline std::string to_string(AVPixelFormat format) {
  const char* name = av_get_pix_fmt_name(format);
  return name ? name : "unknown (" + std::to_string(static_cast<int>(format)) + ")";
}

inline ColourSpace colour_space(AVColorSpace space) {
  switch (space) {
    case AVCOL_SPC_BT709:
      return ColourSpace::kBt709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return ColourSpace::kBt601;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return ColourSpace::kBt2020;
    default:
      return ColourSpace::kUnknown;
  }
}

inline AVColorSpace av_colour_space(ColourSpace space) {
  switch (space) {
    case ColourSpace::kBt709:
      return AVCOL_SPC_BT709;
    case ColourSpace::kBt601:
      return AVCOL_SPC_SMPTE170M;
    case ColourSpace::kBt2020:
      return AVCOL_SPC_BT2020_NCL;
    case ColourSpace::kUnknown:
      break;
  }
  return AVCOL_SPC_UNSPECIFIED;
}

inline ColourRange colour_range(AVColorRange range) {
  if (range == AVCOL_RANGE_MPEG) return ColourRange::kLimited;
  return range == AVCOL_RANGE_JPEG ? ColourRange::kFull : ColourRange::kUnknown;
}

inline AVColorRange av_colour_range(ColourRange range) {
  if (range == ColourRange::kLimited) return AVCOL_RANGE_MPEG;
  return range == ColourRange::kFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED;
}

namespace detail {

/// Properties of a picture in Tenon's terms. Precondition: `mapping` belongs to the picture's format.
inline FrameInfo make_info(const FormatMapping& mapping, int width, int height, AVColorSpace space,
                           AVColorRange range) {
  FrameInfo info;
  info.format = mapping.format;
  info.width_px = static_cast<std::uint32_t>(width);
  info.height_px = static_cast<std::uint32_t>(height);
  info.colour_space = ffmpeg::colour_space(space);
  info.colour_range = mapping.full_range ? ColourRange::kFull : ffmpeg::colour_range(range);
  return info;
}

inline std::string mapped_names() {
  std::string names;
  AVPixelFormat last = AV_PIX_FMT_NONE;
  for (const FormatMapping& mapping : kMappings) {
    if (mapping.av != last) names += " " + to_string(mapping.av);
    last = mapping.av;
  }
  return names;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
