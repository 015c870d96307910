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
const FormatMapping* find_mapping(AVPixelFormat format);

/// Null if FFmpeg has no software format of that layout.
const FormatMapping* find_mapping(PixelFormat format);

std::string to_string(AVPixelFormat format);
ColourSpace colour_space(AVColorSpace space);
AVColorSpace av_colour_space(ColourSpace space);
ColourRange colour_range(AVColorRange range);
AVColorRange av_colour_range(ColourRange range);

namespace detail {

/// Properties of a picture in Tenon's terms. Precondition: `mapping` belongs to the picture's format.
FrameInfo make_info(const FormatMapping& mapping, int width, int height, AVColorSpace space, AVColorRange range);

std::string mapped_names();

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
