// SPDX-License-Identifier: Apache-2.0
// Caps to FrameInfo and AudioInfo, and back.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <gst/audio/audio.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// One line per format that both know; planes have the same order in both.
struct FormatMapping {
  GstVideoFormat gst = GST_VIDEO_FORMAT_UNKNOWN;
  PixelFormat format;
};

namespace detail {

inline constexpr FormatMapping kMappings[] = {
    {GST_VIDEO_FORMAT_NV12, kNv12},
    {GST_VIDEO_FORMAT_NV21, kNv21},
    {GST_VIDEO_FORMAT_NV16, kNv16},
    {GST_VIDEO_FORMAT_P010_10LE, kP010},
    {GST_VIDEO_FORMAT_I420, kI420},
    {GST_VIDEO_FORMAT_YV12, kYv12},
    {GST_VIDEO_FORMAT_Y42B, kI422},
    {GST_VIDEO_FORMAT_Y444, kI444},
    {GST_VIDEO_FORMAT_YUY2, kYuy2},
    {GST_VIDEO_FORMAT_UYVY, kUyvy},
    {GST_VIDEO_FORMAT_GRAY8, kGray8},
    {GST_VIDEO_FORMAT_GRAY16_LE, kGray16},
    {GST_VIDEO_FORMAT_RGB, kRgb24},
    {GST_VIDEO_FORMAT_BGR, kBgr24},
    {GST_VIDEO_FORMAT_RGBA, kRgba},
    {GST_VIDEO_FORMAT_BGRA, kBgra},
    {GST_VIDEO_FORMAT_RGBx, kRgbx},
    {GST_VIDEO_FORMAT_BGRx, kBgrx},
    {GST_VIDEO_FORMAT_GBR, kGbrPlanar},
    {GST_VIDEO_FORMAT_RGBP, kRgbPlanar},
    {GST_VIDEO_FORMAT_BGRP, kBgrPlanar},
    {GST_VIDEO_FORMAT_ARGB, kArgb},
    {GST_VIDEO_FORMAT_ABGR, kAbgr},
    {GST_VIDEO_FORMAT_xRGB, kXrgb},
    {GST_VIDEO_FORMAT_xBGR, kXbgr},
    {GST_VIDEO_FORMAT_RGB16, kRgb565},
    {GST_VIDEO_FORMAT_BGR16, kBgr565},
    {GST_VIDEO_FORMAT_RGB15, kXrgb555},
    {GST_VIDEO_FORMAT_BGR15, kXbgr555},
    {GST_VIDEO_FORMAT_RGB10A2_LE, kRgb10a2},
    {GST_VIDEO_FORMAT_BGR10A2_LE, kBgr10a2},
    {GST_VIDEO_FORMAT_RGBA64_LE, kRgba64},
    {GST_VIDEO_FORMAT_BGRA64_LE, kBgra64},
    {GST_VIDEO_FORMAT_ARGB64_LE, kArgb64},
    {GST_VIDEO_FORMAT_ABGR64_LE, kAbgr64},
    {GST_VIDEO_FORMAT_GBRA, kGbra},
    {GST_VIDEO_FORMAT_GBR_10LE, kGbr10},
    {GST_VIDEO_FORMAT_GBR_12LE, kGbr12},
    {GST_VIDEO_FORMAT_GBRA_10LE, kGbra10},
    {GST_VIDEO_FORMAT_GBRA_12LE, kGbra12},
    {GST_VIDEO_FORMAT_NV61, kNv61},
    {GST_VIDEO_FORMAT_NV24, kNv24},
    {GST_VIDEO_FORMAT_AV12, kNv12a},
    {GST_VIDEO_FORMAT_P012_LE, kP012},
    {GST_VIDEO_FORMAT_P016_LE, kP016},
    {GST_VIDEO_FORMAT_Y41B, kI411},
    {GST_VIDEO_FORMAT_YUV9, kI410},
    {GST_VIDEO_FORMAT_YVU9, kYv410},
    {GST_VIDEO_FORMAT_A420, kI420a},
    {GST_VIDEO_FORMAT_I420_10LE, kI420p10},
    {GST_VIDEO_FORMAT_I422_10LE, kI422p10},
    {GST_VIDEO_FORMAT_Y444_10LE, kI444p10},
    {GST_VIDEO_FORMAT_I420_12LE, kI420p12},
    {GST_VIDEO_FORMAT_I422_12LE, kI422p12},
    {GST_VIDEO_FORMAT_Y444_12LE, kI444p12},
    {GST_VIDEO_FORMAT_Y444_16LE, kI444p16},
    {GST_VIDEO_FORMAT_A420_10LE, kI420ap10},
    {GST_VIDEO_FORMAT_A422_10LE, kI422ap10},
    {GST_VIDEO_FORMAT_A444_10LE, kI444ap10},
    {GST_VIDEO_FORMAT_YVYU, kYvyu},
    {GST_VIDEO_FORMAT_VYUY, kVyuy},
    {GST_VIDEO_FORMAT_Y210, kY210},
    {GST_VIDEO_FORMAT_Y212_LE, kY212},
    {GST_VIDEO_FORMAT_v308, kYuv24},
    {GST_VIDEO_FORMAT_IYU2, kUyv24},
    {GST_VIDEO_FORMAT_VUYA, kVuya},
    {GST_VIDEO_FORMAT_AYUV, kAyuv},
    {GST_VIDEO_FORMAT_AYUV64, kAyuv64},
    {GST_VIDEO_FORMAT_Y410, kY410},
    {GST_VIDEO_FORMAT_Y412_LE, kY412},
    {GST_VIDEO_FORMAT_v216, kV216},
    {GST_VIDEO_FORMAT_IYU1, kUyyvyy},
    {GST_VIDEO_FORMAT_GRAY16_BE, big_endian(kGray16)},
    {GST_VIDEO_FORMAT_I420_10BE, big_endian(kI420p10)},
    {GST_VIDEO_FORMAT_I422_10BE, big_endian(kI422p10)},
    {GST_VIDEO_FORMAT_Y444_10BE, big_endian(kI444p10)},
    {GST_VIDEO_FORMAT_GBR_10BE, big_endian(kGbr10)},
    {GST_VIDEO_FORMAT_GBR_12BE, big_endian(kGbr12)},
    {GST_VIDEO_FORMAT_A420_10BE, big_endian(kI420ap10)},
    {GST_VIDEO_FORMAT_A422_10BE, big_endian(kI422ap10)},
    {GST_VIDEO_FORMAT_A444_10BE, big_endian(kI444ap10)},
    {GST_VIDEO_FORMAT_P010_10BE, big_endian(kP010)},
    {GST_VIDEO_FORMAT_GBRA_10BE, big_endian(kGbra10)},
    {GST_VIDEO_FORMAT_GBRA_12BE, big_endian(kGbra12)},
    {GST_VIDEO_FORMAT_I420_12BE, big_endian(kI420p12)},
    {GST_VIDEO_FORMAT_I422_12BE, big_endian(kI422p12)},
    {GST_VIDEO_FORMAT_Y444_12BE, big_endian(kI444p12)},
    {GST_VIDEO_FORMAT_Y444_16BE, big_endian(kI444p16)},
    {GST_VIDEO_FORMAT_P016_BE, big_endian(kP016)},
    {GST_VIDEO_FORMAT_P012_BE, big_endian(kP012)},
    {GST_VIDEO_FORMAT_Y212_BE, big_endian(kY212)},
    {GST_VIDEO_FORMAT_Y412_BE, big_endian(kY412)},
    {GST_VIDEO_FORMAT_ARGB64_BE, big_endian(kArgb64)},
    {GST_VIDEO_FORMAT_RGBA64_BE, big_endian(kRgba64)},
    {GST_VIDEO_FORMAT_BGRA64_BE, big_endian(kBgra64)},
    {GST_VIDEO_FORMAT_ABGR64_BE, big_endian(kAbgr64)},
};

}  // namespace detail

/// Null if Tenon cannot describe `format`.
const FormatMapping* find_mapping(GstVideoFormat format);

/// By fourcc alone: GStreamer says the modifier elsewhere. Null if GStreamer has no such format.
const FormatMapping* find_mapping(PixelFormat format);

/// What fixed video caps say.
struct VideoCaps {
  FrameInfo info;                      ///< The modifier is that of drm-format; linear where there is none.
  int rate_num = 0, rate_den = 1;      ///< Frames per second; 0/1: variable, or unknown.
  int aspect_num = 1, aspect_den = 1;  ///< Width to height of a pixel.
  bool interlaced = false;             ///< Both fields are in each frame.
  std::string memory;                  ///< Feature such as "memory:DMABuf"; empty for system memory.
  std::string colorimetry;  ///< As caps write it, with transfer and primaries; used while `info` agrees with it.
  /// Fields of the caps that nothing here interprets (multiview-mode, chroma-site, field-order...), as GstStructure's text.
  std::string others;
  /// Where planes lie in a buffer without a GstVideoMeta. Bytes.
  std::array<std::size_t, 4> offset{};
  std::array<int, 4> stride{};
  std::size_t size_bytes = 0;
};

namespace detail {

ColourSpace colour_space(GstVideoColorMatrix matrix);
ColourRange colour_range(GstVideoColorRange range);

/// The colorimetry of `info` as caps write it; empty where nothing is known.
std::string colorimetry(const FrameInfo& info);

}  // namespace detail

/// What `video` says; the modifier is linear, and there is no memory feature.
/// @errors kUnimplemented: a format without a Tenon layout, alternating fields; kInvalidArgument: extents.
VideoCaps video_caps(const GstVideoInfo& video);

/// What fixed video/x-raw caps say: format with drm-format, extents, colorimetry (GStreamer's defaults where the caps say
/// nothing), frame rate, memory feature. In a loop use CapsCache.
/// @errors kInvalidArgument: null, not fixed, no raw video, a field that cannot be read; kUnimplemented: a format without
/// a Tenon layout (those with one are listed).
/// @thread any, while `caps` is not written. @cost that of gst_video_info_from_caps, and little more.
VideoCaps video_caps(const GstCaps* caps);

/// video_caps() of the caps seen last: a stream's caps change rarely, and are then another object.
/// @thread one at a time.
class CapsCache {
 public:
  /// Valid until the next call. @param rotation  What the stream's tags say (orientation_of()). @errors as video_caps().
  /// @cost a comparison of pointers for the caps of the last call.
  const VideoCaps& of(GstCaps* caps, Rotation rotation = Rotation::kNone);

 private:
  CapsPtr held_;
  VideoCaps value_;
};

/// Caps that say what `video` says; its layout of planes is GStreamer's business and not in caps. A tiled format becomes
/// format=DMA_DRM with drm-format, and so do linear dma-bufs (memory:DMABuf) from GStreamer 1.24 on, as elements negotiate it.
/// @errors kUnimplemented: GStreamer has no such format; kInvalidArgument: a rate or an aspect with a denominator of 0.
CapsPtr caps(const VideoCaps& video);
/// As above, without a frame rate.
CapsPtr caps(const FrameInfo& info);

namespace detail {

struct SampleMapping {
  GstAudioFormat gst;
  ElementType type;
};
inline constexpr SampleMapping kSamples[] = {
    {GST_AUDIO_FORMAT_U8, ElementType::kU8},     {GST_AUDIO_FORMAT_S8, ElementType::kI8},
    {GST_AUDIO_FORMAT_S16LE, ElementType::kI16}, {GST_AUDIO_FORMAT_U16LE, ElementType::kU16},
    {GST_AUDIO_FORMAT_S32LE, ElementType::kI32}, {GST_AUDIO_FORMAT_U32LE, ElementType::kU32},
    {GST_AUDIO_FORMAT_F32LE, ElementType::kF32}, {GST_AUDIO_FORMAT_F64LE, ElementType::kF64},
};

}  // namespace detail

/// What fixed audio/x-raw caps say. @errors kInvalidArgument: null, not fixed, no raw audio, a field that cannot be read;
/// kUnimplemented: samples that no element type describes (24 bits, big endian).
AudioInfo audio_info(const GstCaps* caps);

/// Caps that say what `info` says. More than two channels have no positions (channel-mask 0).
/// @errors kUnimplemented: GStreamer has no such samples; kInvalidArgument: no channels, or no rate.
CapsPtr caps(const AudioInfo& info);

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
