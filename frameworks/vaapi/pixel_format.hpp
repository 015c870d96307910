// SPDX-License-Identifier: Apache-2.0
// VA-API's and Tenon's pixel formats.
#pragma once

#include <va/va.h>

#include <cstdint>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// One pair of formats. VA's names are those of the bytes in memory.
struct FormatMapping {
  std::uint32_t va;  ///< VA_FOURCC_*
  PixelFormat format;
  std::uint32_t rt_format;  ///< VA_RT_FORMAT_*
};

namespace detail {

/// The first line with a fourcc gives its PixelFormat, and the first with a PixelFormat its fourcc.
inline constexpr FormatMapping kMappings[] = {
    {VA_FOURCC_NV12, kNv12, VA_RT_FORMAT_YUV420},    {VA_FOURCC_NV21, kNv21, VA_RT_FORMAT_YUV420},
    {VA_FOURCC_P010, kP010, VA_RT_FORMAT_YUV420_10}, {VA_FOURCC_I420, kI420, VA_RT_FORMAT_YUV420},
    {VA_FOURCC_IYUV, kI420, VA_RT_FORMAT_YUV420},    {VA_FOURCC_YV12, kYv12, VA_RT_FORMAT_YUV420},
    {VA_FOURCC_YUY2, kYuy2, VA_RT_FORMAT_YUV422},    {VA_FOURCC_UYVY, kUyvy, VA_RT_FORMAT_YUV422},
    {VA_FOURCC_422H, kI422, VA_RT_FORMAT_YUV422},    {VA_FOURCC_444P, kI444, VA_RT_FORMAT_YUV444},
    {VA_FOURCC_Y800, kGray8, VA_RT_FORMAT_YUV400},   {VA_FOURCC_RGBA, kRgba, VA_RT_FORMAT_RGB32},
    {VA_FOURCC_BGRA, kBgra, VA_RT_FORMAT_RGB32},     {VA_FOURCC_RGBX, kRgbx, VA_RT_FORMAT_RGB32},
    {VA_FOURCC_BGRX, kBgrx, VA_RT_FORMAT_RGB32},     {VA_FOURCC_RGBP, kRgbPlanar, VA_RT_FORMAT_RGBP},
    {VA_FOURCC_BGRP, kBgrPlanar, VA_RT_FORMAT_RGBP},
};

}  // namespace detail

/// Null if Tenon cannot describe VA_FOURCC `va`.
inline const FormatMapping* find_mapping(std::uint32_t va) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.va == va) return &mapping;
  }
  return nullptr;
}

/// Null if VA-API has no format of those planes. The modifier does not matter.
inline const FormatMapping* find_mapping(PixelFormat format) {
  for (const FormatMapping& mapping : detail::kMappings) {
    if (mapping.format.fourcc == format.fourcc) return &mapping;
  }
  return nullptr;
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
