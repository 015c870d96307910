// SPDX-License-Identifier: Apache-2.0
// A frame that FFmpeg decoded on the software driver.
#pragma once

#include <tenon/bridges/ffmpeg_vaapi/ffmpeg_vaapi.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/tests/va/va_fixture.hpp>

namespace tenon::va_test {

/// In a VA surface of context().
inline Frame decoded() {
  const tenon_test::Folder folder;
  tenon_test::ClipSpec spec;
  spec.frames = 6;
  tenon_test::make_clip(folder.file("clip.mp4"), spec);
  ffmpeg::Options options;
  options.hardware = ffmpeg_vaapi::device(context());
  options.take_hardware = ffmpeg_vaapi::surfaces(context());
  ffmpeg::Video video(folder.file("clip.mp4"), options);
  return *video.read();
}

}  // namespace tenon::va_test
