// SPDX-License-Identifier: Apache-2.0
// Conversion between FFmpeg's and Tenon's pixel formats, colour spaces and ranges.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <tenon/core/carried_formats.hpp>
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
    {AV_PIX_FMT_YUVA420P, kI420a},
    {AV_PIX_FMT_YUVA422P, kI422a},
    {AV_PIX_FMT_YUVA444P, kI444a},
    {AV_PIX_FMT_YUV440P, kI440},
    {AV_PIX_FMT_YUV411P, kI411},
    {AV_PIX_FMT_YUV410P, kI410},
    {AV_PIX_FMT_NV24, kNv24},
    {AV_PIX_FMT_NV42, kNv42},
    {AV_PIX_FMT_YVYU422, kYvyu},
    {AV_PIX_FMT_UYYVYY411, kUyyvyy},
    {AV_PIX_FMT_ARGB, kArgb},
    {AV_PIX_FMT_ABGR, kAbgr},
    {AV_PIX_FMT_0RGB, kXrgb},
    {AV_PIX_FMT_0BGR, kXbgr},
    {AV_PIX_FMT_GBRAP, kGbra},
    {AV_PIX_FMT_YA8, kGrayA8},
    {AV_PIX_FMT_RGB8, kRgb332},
    {AV_PIX_FMT_BGR8, kBgr233},
    {AV_PIX_FMT_RGB4_BYTE, kRgb121},
    {AV_PIX_FMT_BGR4_BYTE, kBgr121},
    {AV_PIX_FMT_YUVJ440P, kI440, {0, 1, 2, 3}, true},
    {AV_PIX_FMT_YUVJ411P, kI411, {0, 1, 2, 3}, true},
    {AV_PIX_FMT_YUV410P, kYv410, {0, 2, 1, 3}},
    {AV_PIX_FMT_GRAY16BE, big_endian(kGray16)},
    {AV_PIX_FMT_P010BE, big_endian(kP010)},
    {AV_PIX_FMT_GRAY9LE, kGray9},
    {AV_PIX_FMT_GRAY9BE, big_endian(kGray9)},
    {AV_PIX_FMT_GRAY10LE, kGray10},
    {AV_PIX_FMT_GRAY10BE, big_endian(kGray10)},
    {AV_PIX_FMT_GRAY12LE, kGray12},
    {AV_PIX_FMT_GRAY12BE, big_endian(kGray12)},
    {AV_PIX_FMT_GRAY14LE, kGray14},
    {AV_PIX_FMT_GRAY14BE, big_endian(kGray14)},
    {AV_PIX_FMT_YA16LE, kGrayA16},
    {AV_PIX_FMT_YA16BE, big_endian(kGrayA16)},
    {AV_PIX_FMT_GRAYF32LE, kGrayF32},
    {AV_PIX_FMT_GRAYF32BE, big_endian(kGrayF32)},
    {AV_PIX_FMT_YUV420P9LE, kI420p9},
    {AV_PIX_FMT_YUV420P9BE, big_endian(kI420p9)},
    {AV_PIX_FMT_YUV422P9LE, kI422p9},
    {AV_PIX_FMT_YUV422P9BE, big_endian(kI422p9)},
    {AV_PIX_FMT_YUV444P9LE, kI444p9},
    {AV_PIX_FMT_YUV444P9BE, big_endian(kI444p9)},
    {AV_PIX_FMT_YUV420P10LE, kI420p10},
    {AV_PIX_FMT_YUV420P10BE, big_endian(kI420p10)},
    {AV_PIX_FMT_YUV422P10LE, kI422p10},
    {AV_PIX_FMT_YUV422P10BE, big_endian(kI422p10)},
    {AV_PIX_FMT_YUV444P10LE, kI444p10},
    {AV_PIX_FMT_YUV444P10BE, big_endian(kI444p10)},
    {AV_PIX_FMT_YUV420P12LE, kI420p12},
    {AV_PIX_FMT_YUV420P12BE, big_endian(kI420p12)},
    {AV_PIX_FMT_YUV422P12LE, kI422p12},
    {AV_PIX_FMT_YUV422P12BE, big_endian(kI422p12)},
    {AV_PIX_FMT_YUV444P12LE, kI444p12},
    {AV_PIX_FMT_YUV444P12BE, big_endian(kI444p12)},
    {AV_PIX_FMT_YUV420P14LE, kI420p14},
    {AV_PIX_FMT_YUV420P14BE, big_endian(kI420p14)},
    {AV_PIX_FMT_YUV422P14LE, kI422p14},
    {AV_PIX_FMT_YUV422P14BE, big_endian(kI422p14)},
    {AV_PIX_FMT_YUV444P14LE, kI444p14},
    {AV_PIX_FMT_YUV444P14BE, big_endian(kI444p14)},
    {AV_PIX_FMT_YUV420P16LE, kI420p16},
    {AV_PIX_FMT_YUV420P16BE, big_endian(kI420p16)},
    {AV_PIX_FMT_YUV422P16LE, kI422p16},
    {AV_PIX_FMT_YUV422P16BE, big_endian(kI422p16)},
    {AV_PIX_FMT_YUV444P16LE, kI444p16},
    {AV_PIX_FMT_YUV444P16BE, big_endian(kI444p16)},
    {AV_PIX_FMT_YUV440P10LE, kI440p10},
    {AV_PIX_FMT_YUV440P10BE, big_endian(kI440p10)},
    {AV_PIX_FMT_YUV440P12LE, kI440p12},
    {AV_PIX_FMT_YUV440P12BE, big_endian(kI440p12)},
    {AV_PIX_FMT_YUVA420P9LE, kI420ap9},
    {AV_PIX_FMT_YUVA420P9BE, big_endian(kI420ap9)},
    {AV_PIX_FMT_YUVA420P10LE, kI420ap10},
    {AV_PIX_FMT_YUVA420P10BE, big_endian(kI420ap10)},
    {AV_PIX_FMT_YUVA420P16LE, kI420ap16},
    {AV_PIX_FMT_YUVA420P16BE, big_endian(kI420ap16)},
    {AV_PIX_FMT_YUVA422P9LE, kI422ap9},
    {AV_PIX_FMT_YUVA422P9BE, big_endian(kI422ap9)},
    {AV_PIX_FMT_YUVA422P10LE, kI422ap10},
    {AV_PIX_FMT_YUVA422P10BE, big_endian(kI422ap10)},
    {AV_PIX_FMT_YUVA422P12LE, kI422ap12},
    {AV_PIX_FMT_YUVA422P12BE, big_endian(kI422ap12)},
    {AV_PIX_FMT_YUVA422P16LE, kI422ap16},
    {AV_PIX_FMT_YUVA422P16BE, big_endian(kI422ap16)},
    {AV_PIX_FMT_YUVA444P9LE, kI444ap9},
    {AV_PIX_FMT_YUVA444P9BE, big_endian(kI444ap9)},
    {AV_PIX_FMT_YUVA444P10LE, kI444ap10},
    {AV_PIX_FMT_YUVA444P10BE, big_endian(kI444ap10)},
    {AV_PIX_FMT_YUVA444P12LE, kI444ap12},
    {AV_PIX_FMT_YUVA444P12BE, big_endian(kI444ap12)},
    {AV_PIX_FMT_YUVA444P16LE, kI444ap16},
    {AV_PIX_FMT_YUVA444P16BE, big_endian(kI444ap16)},
    {AV_PIX_FMT_NV20LE, kNv20},
    {AV_PIX_FMT_NV20BE, big_endian(kNv20)},
    {AV_PIX_FMT_P016LE, kP016},
    {AV_PIX_FMT_P016BE, big_endian(kP016)},
    {AV_PIX_FMT_P210LE, kP210},
    {AV_PIX_FMT_P210BE, big_endian(kP210)},
    {AV_PIX_FMT_P216LE, kP216},
    {AV_PIX_FMT_P216BE, big_endian(kP216)},
    {AV_PIX_FMT_P410LE, kP410},
    {AV_PIX_FMT_P410BE, big_endian(kP410)},
    {AV_PIX_FMT_P416LE, kP416},
    {AV_PIX_FMT_P416BE, big_endian(kP416)},
    {AV_PIX_FMT_Y210LE, kY210},
    {AV_PIX_FMT_Y210BE, big_endian(kY210)},
    {AV_PIX_FMT_AYUV64LE, kAyuv64},
    {AV_PIX_FMT_AYUV64BE, big_endian(kAyuv64)},
    {AV_PIX_FMT_GBRP9LE, kGbr9},
    {AV_PIX_FMT_GBRP9BE, big_endian(kGbr9)},
    {AV_PIX_FMT_GBRP10LE, kGbr10},
    {AV_PIX_FMT_GBRP10BE, big_endian(kGbr10)},
    {AV_PIX_FMT_GBRP12LE, kGbr12},
    {AV_PIX_FMT_GBRP12BE, big_endian(kGbr12)},
    {AV_PIX_FMT_GBRP14LE, kGbr14},
    {AV_PIX_FMT_GBRP14BE, big_endian(kGbr14)},
    {AV_PIX_FMT_GBRP16LE, kGbr16},
    {AV_PIX_FMT_GBRP16BE, big_endian(kGbr16)},
    {AV_PIX_FMT_GBRAP10LE, kGbra10},
    {AV_PIX_FMT_GBRAP10BE, big_endian(kGbra10)},
    {AV_PIX_FMT_GBRAP12LE, kGbra12},
    {AV_PIX_FMT_GBRAP12BE, big_endian(kGbra12)},
    {AV_PIX_FMT_GBRAP16LE, kGbra16},
    {AV_PIX_FMT_GBRAP16BE, big_endian(kGbra16)},
    {AV_PIX_FMT_GBRPF32LE, kGbrF32},
    {AV_PIX_FMT_GBRPF32BE, big_endian(kGbrF32)},
    {AV_PIX_FMT_GBRAPF32LE, kGbraF32},
    {AV_PIX_FMT_GBRAPF32BE, big_endian(kGbraF32)},
    {AV_PIX_FMT_RGB48LE, kRgb48},
    {AV_PIX_FMT_RGB48BE, big_endian(kRgb48)},
    {AV_PIX_FMT_BGR48LE, kBgr48},
    {AV_PIX_FMT_BGR48BE, big_endian(kBgr48)},
    {AV_PIX_FMT_RGBA64LE, kRgba64},
    {AV_PIX_FMT_RGBA64BE, big_endian(kRgba64)},
    {AV_PIX_FMT_BGRA64LE, kBgra64},
    {AV_PIX_FMT_BGRA64BE, big_endian(kBgra64)},
    {AV_PIX_FMT_RGB565LE, kRgb565},
    {AV_PIX_FMT_RGB565BE, big_endian(kRgb565)},
    {AV_PIX_FMT_BGR565LE, kBgr565},
    {AV_PIX_FMT_BGR565BE, big_endian(kBgr565)},
    {AV_PIX_FMT_RGB555LE, kXrgb555},
    {AV_PIX_FMT_RGB555BE, big_endian(kXrgb555)},
    {AV_PIX_FMT_BGR555LE, kXbgr555},
    {AV_PIX_FMT_BGR555BE, big_endian(kXbgr555)},
    {AV_PIX_FMT_RGB444LE, kXrgb444},
    {AV_PIX_FMT_RGB444BE, big_endian(kXrgb444)},
    {AV_PIX_FMT_BGR444LE, kXbgr444},
    {AV_PIX_FMT_BGR444BE, big_endian(kXbgr444)},
    {AV_PIX_FMT_X2BGR10LE, kRgb10x2},
    {AV_PIX_FMT_X2BGR10BE, big_endian(kRgb10x2)},
    {AV_PIX_FMT_X2RGB10LE, kBgr10x2},
    {AV_PIX_FMT_X2RGB10BE, big_endian(kBgr10x2)},
    {AV_PIX_FMT_X2BGR10LE, kRgb10a2},
    {AV_PIX_FMT_X2RGB10LE, kBgr10a2},
#if LIBAVUTIL_VERSION_MAJOR >= 58
    {AV_PIX_FMT_VUYA, kVuya},
    {AV_PIX_FMT_P012LE, kP012},
    {AV_PIX_FMT_P012BE, big_endian(kP012)},
    {AV_PIX_FMT_Y212LE, kY212},
    {AV_PIX_FMT_Y212BE, big_endian(kY212)},
    {AV_PIX_FMT_XV30LE, kY410},
    {AV_PIX_FMT_XV36LE, kY412},
#endif
};

}  // namespace detail

/// Null if Tenon cannot describe `format`: palettes, mosaics of sensors, CIE XYZ, pixels of less than a byte, devices.
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

/// As find_mapping(), for pictures that go on as they are decoded; null also for formats that Tenon does not read pixel by pixel,
/// and for those of FFmpeg alone, which other libraries would refuse (9 and 14 bits, big endian, grey with alpha...).
const FormatMapping* find_common(AVPixelFormat format);

/// Why Tenon describes no planes of `format`. Precondition: find_mapping(format) is null.
std::string reason_against(AVPixelFormat format);

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
