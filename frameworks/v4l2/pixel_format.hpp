// SPDX-License-Identifier: Apache-2.0
// Conversion between V4L2's and Tenon's pixel formats, colour, and where planes lie in a buffer.
#pragma once

#include <linux/videodev2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// One pair of formats. The names of V4L2's RGB formats follow memory order or not, depending on their age; each was
/// taken from the table of bytes in its documentation.
struct FormatMapping {
  std::uint32_t v4l2 = 0;
  PixelFormat format;
  std::uint8_t memories = 1;  ///< Buffers per picture: the formats whose names end in M have one for each plane.
};

namespace detail {

/// The first line with a PixelFormat gives its V4L2 format. @source V4L2 documentation, "Image Formats"
inline constexpr FormatMapping kMappings[] = {
    {V4L2_PIX_FMT_NV12, kNv12},       {V4L2_PIX_FMT_NV21, kNv21},       {V4L2_PIX_FMT_NV16, kNv16},
    {V4L2_PIX_FMT_P010, kP010},       {V4L2_PIX_FMT_YUV420, kI420},     {V4L2_PIX_FMT_YVU420, kYv12},
    {V4L2_PIX_FMT_YUV422P, kI422},    {V4L2_PIX_FMT_YUYV, kYuy2},       {V4L2_PIX_FMT_UYVY, kUyvy},
    {V4L2_PIX_FMT_GREY, kGray8},      {V4L2_PIX_FMT_Y16, kGray16},      {V4L2_PIX_FMT_RGB24, kRgb24},
    {V4L2_PIX_FMT_BGR24, kBgr24},     {V4L2_PIX_FMT_RGBA32, kRgba},     {V4L2_PIX_FMT_ABGR32, kBgra},
    {V4L2_PIX_FMT_RGBX32, kRgbx},     {V4L2_PIX_FMT_XBGR32, kBgrx},     {V4L2_PIX_FMT_NV12M, kNv12, 2},
    {V4L2_PIX_FMT_NV21M, kNv21, 2},   {V4L2_PIX_FMT_NV16M, kNv16, 2},   {V4L2_PIX_FMT_YUV420M, kI420, 3},
    {V4L2_PIX_FMT_YVU420M, kYv12, 3}, {V4L2_PIX_FMT_YUV422M, kI422, 3}, {V4L2_PIX_FMT_YUV444M, kI444, 3},
};

}  // namespace detail

/// Null if Tenon cannot describe `fourcc` (compressed, tiled, packed to odd bits).
const FormatMapping* find_mapping(std::uint32_t fourcc);
/// Null if V4L2 has no format of that layout. @param memories  Buffers per picture; 0: any, one if there is such a format.
const FormatMapping* find_mapping(PixelFormat format, std::size_t memories = 0);

/// "YUYV", "MJPG", "Y16 -BE".
std::string fourcc_name(std::uint32_t fourcc);

/// Colour as V4L2 says it.
struct Colorimetry {
  std::uint32_t colorspace = V4L2_COLORSPACE_DEFAULT;
  std::uint32_t ycbcr_enc = V4L2_YCBCR_ENC_DEFAULT;
  std::uint32_t quantization = V4L2_QUANTIZATION_DEFAULT;
};

/// The matrix of `colour`. What V4L2 leaves to a default follows from the colour space, as its documentation says; unknown
/// where that is unknown too, or where Tenon has no name for it (SMPTE 240M).
ColourSpace colour_space(const Colorimetry& colour);

ColourRange colour_range(const Colorimetry& colour);

/// The other way: what to tell a device of a picture that it gets, or ask of one that converts.
Colorimetry colorimetry(ColourSpace space, ColourRange range);

/// A picture in the buffers of a device: what it is, and where each plane lies.
struct BufferLayout {
  struct Plane {
    std::size_t memory = 0;  ///< Which of the picture's buffers.
    std::size_t offset = 0, pitch_bytes = 0;
  };
  FrameInfo info;
  std::uint32_t fourcc = 0;
  std::uint32_t field = V4L2_FIELD_NONE;
  std::size_t memories = 1;
  std::array<std::size_t, 4> size_bytes{};  ///< For each buffer, as the driver asks for it.
  std::array<std::size_t, 4> used_bytes{};  ///< For each buffer, up to the end of its last row.
  std::size_t planes = 1;
  std::array<Plane, 4> plane{};

  bool interlaced() const { return field != V4L2_FIELD_NONE; }
};

/// "YUYV 640x480".
std::string to_string(const v4l2_format& format);

namespace detail {

/// What pix and pix_mp say alike.
struct Said {
  std::uint32_t fourcc, width, height, field, memories;
  Colorimetry colour;
  std::array<std::size_t, 4> pitch, size;
};
Said said_by(const v4l2_format& format);

}  // namespace detail

/// Reads what a driver says of its pictures, and believes none of it that would read past a buffer.
/// @param device  For messages.
/// @errors kUnimplemented: a format that Tenon cannot describe, single fields; kInternal: a driver that contradicts itself
/// (no size, rows longer than a pitch, planes past the end of a buffer, a wrong number of buffers).
BufferLayout make_layout(const v4l2_format& format, const std::string& device);

/// The other way: `info` as a device of buffer type `type` is asked for it.
/// @param pitch_bytes  The pitch of the first plane; 0: as the driver likes.
/// @errors kUnimplemented: V4L2 has no such format.
v4l2_format make_format(std::uint32_t type, const FrameInfo& info, const FormatMapping& mapping,
                        std::size_t pitch_bytes = 0);

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
