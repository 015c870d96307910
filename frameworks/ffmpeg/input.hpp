// SPDX-License-Identifier: Apache-2.0
// Packets of one video or audio stream from a file, stream or device, with a deadline on everything that can hang.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/hardware_device.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

class PacketRing;

/// How to open a video. The defaults serve files and streams; devices use what they offer.
struct Options {
  /// Demuxer or capture device ("v4l2", "lavfi"); empty: probed. /dev/video* is v4l2. Demuxers that run scripts or load code which the input
  /// names (avisynth, vapoursynth, lavfi) are taken only by this name, or by the option format_whitelist.
  std::string format;
  std::map<std::string, std::string> input;    ///< FFmpeg's demuxer and protocol options ("rtsp_transport" = "tcp").
  std::map<std::string, std::string> decoder;  ///< FFmpeg's decoder options.
  std::uint32_t width_px = 0, height_px = 0;   ///< Requested from a capture device.
  double fps = 0;                              ///< Requested from a capture device.
  int threads = 0;                             ///< Decoder threads; 0: as many as there are processors.
  HardwareDevice hardware;  ///< Decodes, if it is not empty; frames are then in its memory, as dma-bufs.
  /// Surfaces beside those that the decoder needs: as many frames may be held at a time.
  int hardware_frames = 16;
  /// Makes frames of the device's, taking over the AVFrame's references; empty: adopt_hardware(). Bridges have others.
  std::function<Frame(AVFrame* frame, AVRational time_base)> take_hardware;
  /// Gives frames a metadata::ReferenceTime of the clock "ntp": the sender's, where the stream states it (RTCP, prft).
  bool sender_time = false;
  /// Keeps the packets of the stream; frames then have Packets among their metadata. Null: none are kept.
  std::shared_ptr<PacketRing> packets;
  bool frame_threads = true;            ///< Decode several pictures at once (more delay); else slices only.
  ZeroCopy policy = ZeroCopy::kPrefer;  ///< kRequire refuses a decoder that needs a copy or a conversion.
  Ledger* ledger = nullptr;             ///< Where copies and conversions are booked; null: the process ledger.
  std::chrono::nanoseconds open_timeout = std::chrono::seconds(15);
  std::chrono::nanoseconds read_timeout = std::chrono::seconds(10);  ///< For read() without a deadline.
  /// Once it is true, opening and reading end soon (kCancelled). Null: they wait until their deadlines.
  std::shared_ptr<const std::atomic<bool>> cancelled;
};

namespace detail {

/// With commas: what a medium may be taken for without being asked for by name.
const std::string& demuxers_of_media();

/// Demuxer of one video or audio stream. Not movable: FFmpeg holds its address for the interrupt callback.
class Input {
 public:
  Input(const std::string& name, const Options& options, AVMediaType type = AVMEDIA_TYPE_VIDEO);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() { close(); }

  const std::string& name() const { return name_; }
  AVFormatContext* format() const { return format_; }
  AVStream* stream() const { return stream_; }
  /// A camera or network stream, whose end is not known beforehand.
  bool live() const { return live_; }
  /// From the first time on, as the container states it; 0: unknown.
  std::int64_t duration_us() const;
  /// Times of a stream of this kind may jump: its clock begins anew, or single ones are wrong.
  bool clock_may_jump() const { return has_joints() || (live_ && !fifo_); }
  /// Packets were missing in the middle, as in a recording of a broadcast. Pictures that they damage are no fault of the file.
  bool has_gaps() const { return has_gaps_; }
  /// True once a file has shown that some of its bytes are missing at its end. Streams lose packets, and go on.
  bool truncated() const {
    return !live_ && ((corrupt_ && !has_joints()) || has_part_of_a_packet() || index_past_end() || segment_past_end() ||
                      ends_early());
  }

  /// The next packet of the video stream; false at the end. @errors kDeadlineExceeded, kUnavailable and others.
  bool read(AVPacket* packet, Deadline deadline);

 private:
  static int interrupted(void* opaque);
  bool is_cancelled() const { return cancelled_ && *cancelled_; }

  Error stopped() const;
  Error late(const std::string& what) const;
  void open(const Options& options);
  /// A playlist to which segments are still added.
  bool is_endless() const;
  bool is_unknown(const AVCodecParameters& stream) const;

  /// Whether the container joins pieces by different clocks, and numbers its packets: MPEG-TS, HLS.
  bool has_joints() const { return (format_->iformat->flags & AVFMT_TS_DISCONT) != 0; }

  /// An error of open(). One that came because it was told to stop, or because its time was over, says so.
  Error explained(const Error& error) const;

  /// Checks a path that is no URL. Returns what to open.
  std::string check_path(std::string& format);

  /// Opening and reading a FIFO block in the kernel. It is opened here without blocking, and FFmpeg polls it.
  std::string open_fifo();

  Error open_error(int error, const char* api) const;

  /// Whether the input is the answer of an HTTP server that states no length: its end is that of the connection, which FFmpeg calls a
  /// failure (EIO). A connection that broke has other codes, but FFmpeg does not tell this end from that within a chunk.
  bool ends_with_connection() const;

  /// A missed deadline leaves an error in the byte stream; cleared, so that the next read may try again.
  void forgive_deadline();

  void note_time(const AVPacket& packet);

  /// True when MPEG-TS ends within one of its packets, which all have one size.
  bool has_part_of_a_packet() const;

  /// True when the index names bytes past the end of the file: the file was cut.
  bool index_past_end() const;

  /// True when the segment of a Matroska file is said to be longer than the file: it was cut.
  bool segment_past_end() const;

  /// True when packets end well before the length in the header. Only for containers that state the length of the
  /// file.
  bool ends_early() const;

  void close();

  const std::string address_;
  const std::string name_;  ///< The address without its credentials, for messages.
  AVMediaType type_;
  std::shared_ptr<const std::atomic<bool>> cancelled_;
  std::string kind_;  ///< "video", "audio": for messages.
  AVFormatContext* format_ = nullptr;
  AVStream* stream_ = nullptr;
  Deadline deadline_;
  std::int64_t end_us_ = 0;
  UniqueFd fifo_;
  bool live_ = false;
  bool is_late_ = false;  ///< A call of FFmpeg was interrupted because its time was over.
  Clock::duration read_timeout_{};
  bool corrupt_ = false;  ///< The last packet lacks data.
  bool has_gaps_ = false;
  std::int64_t packet_at_ = -1;  ///< Where the last packet lies in the file.
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
