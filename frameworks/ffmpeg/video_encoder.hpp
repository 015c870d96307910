// SPDX-License-Identifier: Apache-2.0
// Frames to packets of a video stream, for writers of files and of network streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

struct WriterOptions {
  double fps = 25;                  ///< For frames without timestamps.
  std::string codec;                ///< FFmpeg's name of an encoder; empty: libx264 if built in, else mpeg4.
  int quality = 23;                 ///< libx264's crf; mpeg4's quantiser is derived from it. Lower is better.
  std::string preset = "veryfast";  ///< For libx264.
  bool low_delay = false;           ///< For libx264: no picture waits for later ones.
  int threads = 0;                  ///< 0: as many as there are processors.
  Ledger* ledger = nullptr;         ///< Where conversions are booked; null: the process ledger.
};

namespace detail {

/// An encoder and its stream in a container. @thread one at a time.
class VideoEncoder {
 public:
  /// @param what  Names the output in messages. @errors as Writer
  VideoEncoder(std::string what, const FrameInfo& info, WriterOptions options, const AVOutputFormat& container);

  /// "libx264".
  const std::string& name() const { return name_; }

  /// Describes the stream to the container, as its first one.
  void add_to(AVFormatContext* format);

  /// Encodes `frame`, and writes the packets that are ready. @errors as Writer::write
  void write(const Frame& frame, AVFormatContext* format);

  /// Writes what the encoder still holds. Nothing may be written after.
  void flush(AVFormatContext* format) { encode(nullptr, format); }

 private:
  /// The range of pictures that the converter makes: it keeps YUV's, and makes RGB limited.
  AVColorRange converted_range(const FormatMapping* mapping) const;

  /// RTSP, RTP and MPEG-TS do not say which codecs they take; H.264 is what most receivers expect of them.
  static bool takes(const AVOutputFormat& container, AVCodecID codec);

  void open(const AVOutputFormat& container);

  /// Strictly increasing, whatever timestamps the source has.
  std::int64_t next_time(std::int64_t timestamp_ns);

  void encode(const AVFrame* picture, AVFormatContext* format);

  std::string what_;
  FrameInfo info_;
  WriterOptions options_;
  std::string name_;
  CodecPtr codec_;
  PacketPtr packet_ = new_packet();
  Converter converter_;
  std::optional<std::int64_t> last_time_, first_ns_;
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
