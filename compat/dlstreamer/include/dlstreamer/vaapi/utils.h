// SPDX-License-Identifier: Apache-2.0
// Formats of surfaces.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <va/va.h>

#include "dlstreamer/image_info.h"

namespace dlstreamer {

/// @errors std::runtime_error: VA-API has no such format.
inline uint32_t video_format_to_vaapi(ImageFormat format) {
  switch (format) {
    case ImageFormat::BGRX:
      return VA_FOURCC_BGRX;
    case ImageFormat::RGBX:
      return VA_FOURCC_RGBX;
    case ImageFormat::BGRP:
      return VA_FOURCC_BGRP;
    case ImageFormat::RGBP:
      return VA_FOURCC_RGBP;
    case ImageFormat::NV12:
      return VA_FOURCC_NV12;
    case ImageFormat::I420:
      return VA_FOURCC_I420;
    case ImageFormat::BGR:
    case ImageFormat::RGB:
      break;
  }
  throw std::runtime_error("video_format_to_vaapi: surfaces have no " + image_format_to_string(format) +
                           "; BGRX and RGBX have four bytes a pixel");
}

/// @param video_format  VA_FOURCC_*. @errors std::runtime_error: another one than video_format_to_vaapi() gives.
inline uint32_t vaapi_video_format_to_rtformat(uint32_t video_format) {
  switch (video_format) {
    case VA_FOURCC_NV12:
    case VA_FOURCC_I420:
      return VA_RT_FORMAT_YUV420;
    case VA_FOURCC_BGRX:
    case VA_FOURCC_RGBX:
      return VA_RT_FORMAT_RGB32;
    case VA_FOURCC_BGRP:
    case VA_FOURCC_RGBP:
      return VA_RT_FORMAT_RGBP;
  }
  throw std::runtime_error("vaapi_video_format_to_rtformat: no runtime format of fourcc " +
                           std::to_string(video_format));
}

}  // namespace dlstreamer
