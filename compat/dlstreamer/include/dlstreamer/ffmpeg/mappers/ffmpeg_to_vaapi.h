// SPDX-License-Identifier: Apache-2.0
// The surfaces that FFmpeg decoded into, in place.
#pragma once

#include <memory>

#include <tenon/bridges/ffmpeg_vaapi/ffmpeg_vaapi.hpp>

#include "dlstreamer/ffmpeg/context.h"
#include "dlstreamer/vaapi/context.h"

namespace dlstreamer {

class MemoryMapperFFMPEGToVAAPI : public detail::NamedMapper<MemoryType::FFmpeg, MemoryType::VAAPI> {
 public:
  using NamedMapper::map;
  using NamedMapper::NamedMapper;

  /// @errors std::runtime_error: a frame that is no FFmpegFrame; those of ffmpeg_vaapi::wrap.
  FramePtr map(FramePtr src, AccessMode mode) override {
    const AVFrame* frame = ptr_cast<FFmpegFrame>(src)->avframe();
    if (frame->format != AV_PIX_FMT_VAAPI) return NamedMapper::map(src, mode);
    return mapped(std::make_shared<VAAPIFrame>(tenon::ffmpeg_vaapi::wrap(target().native(), frame), _output_context),
                  src, mode);
  }
  detail::MapperMaker maker() const override {
    return [](const ContextPtr& input, const ContextPtr& output) {
      return std::make_shared<MemoryMapperFFMPEGToVAAPI>(input, output);
    };
  }
};

namespace detail {
inline const bool kHasFfmpegToVaapi =
    add_special_mapper<MemoryMapperFFMPEGToVAAPI>(MemoryType::FFmpeg, MemoryType::VAAPI);
}  // namespace detail
}  // namespace dlstreamer
