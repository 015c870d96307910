// SPDX-License-Identifier: Apache-2.0
// What both zero-copy tests need of the decoder: a clip, and the AVFrame behind a frame.
#pragma once

#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace zero_copy {

inline const AVFrame& av_frame_of(const tenon::Frame& frame) {
  return *dynamic_cast<const tenon::ffmpeg::FrameLease&>(*frame.plane(0).lease()).frame();
}

/// A clip of 640x360 in `folder`, with B-frames, so that pictures leave the decoder in another order than they enter.
inline std::string make_clip(const tenon_test::Folder& folder, int frames, int key_frame_every) {
  tenon_test::ClipSpec spec;
  spec.width = 640;
  spec.height = 360;
  spec.frames = frames;
  const std::string path = folder.file("clip.mp4");
  tenon_test::make_clip(path, spec, "g=" + std::to_string(key_frame_every) + ":bf=2");
  return path;
}

}  // namespace zero_copy
