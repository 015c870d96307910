// SPDX-License-Identifier: Apache-2.0
// Frames to packets of a video stream, for writers of files and of network streams.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/hardware_device.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

struct WriterOptions {
  double fps = 25;  ///< For frames without timestamps.
  /// FFmpeg's name of an encoder; empty: libx264 if built in and the container takes it, else mpeg4, else the container's own.
  std::string codec;
  int quality = 23;                 ///< libx264's crf; mpeg4's quantiser is derived from it. Lower is better.
  std::string preset = "veryfast";  ///< For libx264.
  bool low_delay = false;           ///< For libx264: no picture waits for later ones.
  int threads = 0;                  ///< 0: as many as there are processors.
  Ledger* ledger = nullptr;         ///< Where conversions are booked; null: the process ledger.
  std::map<std::string, std::string> encoder = {};  ///< FFmpeg's options of the encoder ("profile" = "dnxhr_hq").
  std::uint32_t aspect_num = 1, aspect_den = 1;     ///< Width to height of a pixel of the frames, as they are stored.
  /// The device of encoders that take frames of devices only (h264_vaapi), as FFmpeg names it ("/dev/dri/renderD128"); empty:
  /// FFmpeg's default.
  std::string device = {};
};

namespace detail {

/// The format of pictures for `encoder`: 4:2:0 for RGB and grey where players expect it (H.264 and its like); else `from` if it
/// takes that; else the one that loses the least. @return AV_PIX_FMT_NONE: it takes no format that pictures can be converted to.
/// @param container  FFmpeg's name of it: it decides for pictures that are not encoded.
AVPixelFormat encoder_format(const AVCodec& encoder, AVPixelFormat from, std::string_view container = {});

/// An encoder and its stream in a container. @thread one at a time.
class VideoEncoder {
 public:
  /// @param what  Names the output in messages.
  /// @param path  Its extension tells the encoder of a container that has several.
  /// @errors as Writer
  VideoEncoder(std::string what, const FrameInfo& info, WriterOptions options, const AVOutputFormat& container,
               const std::string& path = {});

  /// "libx264".
  const std::string& name() const { return name_; }

  /// Describes the stream to the container, as its first one.
  void add_to(AVFormatContext* format);

  /// Encodes `frame`, and writes the packets that are ready. Where pictures are counted, the one before it fills gaps.
  /// @return Whether the frame became a picture: there may be no room for it. @errors as Writer::write
  bool write(const Frame& frame, AVFormatContext* format);

  /// Writes what the encoder still holds. Nothing may be written after.
  void flush(AVFormatContext* format) { encode(nullptr, format); }

 private:
  /// The range of the encoded pictures: that of the frames; limited for RGB that becomes YUV; full where the format says so.
  AVColorRange range_of(AVPixelFormat format, const FormatMapping* mapping) const;

  /// RTSP, RTP and MPEG-TS do not say which codecs they take; H.264 is what most receivers expect of them.
  static bool takes(const AVOutputFormat& container, AVCodecID codec);

  /// @errors kUnimplemented: this FFmpeg has none of that name
  const AVCodec& choose(const AVOutputFormat& container, const std::string& path) const;

  void open(const AVCodec& encoder, const AVOutputFormat& container);

  /// Opens the device of an encoder that takes nothing of the host. @return The formats of its frames, the best first.
  /// @errors kUnimplemented: it takes frames of no device; kUnavailable: there is none
  std::vector<AVPixelFormat> open_device(const AVCodec& encoder, AVPixelFormat from);

  /// Encodes a picture, after which the encoder must be opened again. @return The headers in it, for containers that keep them
  /// apart: some devices give them there only. Empty if there are none.
  std::vector<std::uint8_t> headers_of_a_picture();
  void set_headers(const std::vector<std::uint8_t>& headers);

  /// A context for pictures of that format and size with times in that unit.
  CodecPtr set_up(const AVCodec& encoder, const AVOutputFormat& container, AVPixelFormat pixels, AVRational time_base,
                  int width, int height) const;

  /// The format of the encoder's pictures; for frames of a device, that of the pixels in them.
  AVPixelFormat pixels() const;

  /// The frame as the encoder's picture. Copies or converts only where it must.
  FramePtr picture_of(const Frame& frame);

  /// A copy of the picture in a frame of the encoder's device.
  FramePtr uploaded(const AVFrame& picture);

  /// A copy of the frame that is turned upright.
  Frame upright(const Frame& frame);

  static constexpr double kMostLate = 1.1;  ///< Steps by which a picture may be shown late, so that jitter drops none.
  static constexpr std::int64_t kMostAheadNs = 3'600'000'000'000;  ///< Longer gaps are not filled.

  /// Strictly increasing, whatever timestamps the source has. Nothing: where pictures are counted, its place is taken.
  std::optional<std::int64_t> next_time(std::int64_t timestamp_ns);

  void encode(const AVFrame* picture, AVFormatContext* format);

  std::string what_;
  FrameInfo given_, info_;  ///< The frames as they are given, and as they are encoded, which may be upright.
  AVRational rate_{25, 1};
  WriterOptions options_;
  std::string name_;
  HardwareDevice device_;  ///< Empty for encoders of pictures in host memory.
  CodecPtr codec_;
  PacketPtr packet_ = new_packet();
  Converter converter_, to_i420_;
  std::optional<cpu::FramePool> turned_;
  StreamTime line_;
  std::optional<std::int64_t> last_time_, first_ns_;
  std::int64_t most_steps_ = 0;  ///< Between two pictures.
  FramePtr shown_;               ///< The last picture, where gaps are filled.
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
