// SPDX-License-Identifier: Apache-2.0
// The list of the elements of this module.
#include <tenon/elements/ffmpeg/elements.hpp>

#include <tenon/elements/picture_change.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

/// A sink that encodes takes what swscale reads: encoders are given their own formats.
KnownElement encoding(KnownElement sink) {
  for (const PixelFormat format : convertible_formats()) {
    if (tenon::ffmpeg::client::swscale_reads(format)) sink.description.formats.push_back(format);
  }
  return sink;
}

}  // namespace

std::vector<KnownElement> elements() {
  return {file_source(), sound_source(), encoding(file_sink()), encoding(stream_sink()), encoding(crop_sink()),
          record_sink(), convert()};
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
