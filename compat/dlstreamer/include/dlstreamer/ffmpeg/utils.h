// SPDX-License-Identifier: Apache-2.0
// AVFrames as descriptions.
#pragma once

#include <stdexcept>
#include <string>

#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

#include "dlstreamer/base/native.h"

namespace dlstreamer {

/// What a frame is like; of a device's frame, as if its rows were packed.
/// @errors std::runtime_error: null, a format that ImageFormat lacks.
inline FrameInfo avframe_to_info(const AVFrame* frame) {
  if (!frame) throw std::runtime_error("avframe_to_info: the AVFrame is null");
  auto format = static_cast<AVPixelFormat>(frame->format);
  if (frame->hw_frames_ctx) format = reinterpret_cast<const AVHWFramesContext*>(frame->hw_frames_ctx->data)->sw_format;
  const auto* mapping = tenon::ffmpeg::find_mapping(format);
  if (!mapping)
    throw std::runtime_error(std::string("avframe_to_info: no ImageFormat for ") +
                             (av_get_pix_fmt_name(format) ? av_get_pix_fmt_name(format) : "a frame without a format"));
  const tenon::FrameInfo picture{mapping->format, static_cast<uint32_t>(frame->width),
                                 static_cast<uint32_t>(frame->height)};
  FrameInfo info(detail::from_tenon(picture.format), MemoryType::FFmpeg);
  const size_t planes = tenon::format_info(picture.format).plane_count;
  for (size_t plane = 0; plane < planes; ++plane) {
    const tenon::PlaneExtent extent = tenon::plane_extent(picture, plane);
    const size_t pitch = frame->hw_frames_ctx ? extent.row_bytes : static_cast<size_t>(frame->linesize[plane]);
    info.tensors.emplace_back(std::vector<size_t>{extent.height_px, extent.width_px, extent.channels}, DataType::UInt8,
                              std::vector<size_t>{pitch, extent.channels, 1});
  }
  return info;
}

}  // namespace dlstreamer
