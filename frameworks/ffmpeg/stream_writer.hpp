// SPDX-License-Identifier: Apache-2.0
// StreamWriter: encodes frames and sends them to a server.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/video_encoder.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Sends one video stream to a URL: rtsp:// (the server must accept ANNOUNCE and RECORD), rtmp://, srt://, udp://, rtp://.
/// @thread one at a time.
class StreamWriter {
 public:
  struct Options {
    WriterOptions encoder;
    std::map<std::string, std::string> output;  ///< FFmpeg's muxer and protocol options ("rtsp_transport" = "tcp").
    std::chrono::nanoseconds timeout = std::chrono::seconds(5);  ///< For connecting, and for each write().
    /// Once it is true, connecting and writing end soon (kCancelled). Null: they wait until their time is over.
    std::shared_ptr<const std::atomic<bool>> cancelled;
  };

  /// Connects. @param info  As of Writer.
  /// @errors kInvalidArgument: a URL of another kind; kUnavailable: no answer; kDeadlineExceeded; as of Writer for the
  /// encoder.
  StreamWriter(const std::string& url, const FrameInfo& info, Options options);
  StreamWriter(StreamWriter&&) = delete;
  StreamWriter& operator=(StreamWriter&&) = delete;
  ~StreamWriter() { close(); }

  /// @errors as Writer::write(); kUnavailable: the server is gone; kDeadlineExceeded: it takes nothing in time.
  void write(const Frame& frame);
  /// Sends what the encoder still holds, and says goodbye. @errors as above
  void finish();

 private:
  std::string what() const { return "stream \"" + url_ + "\""; }
  static int interrupted(void* opaque);
  bool is_cancelled() const { return options_.cancelled && *options_.cancelled; }
  void start_clock() { deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.timeout); }
  Error failure(int error, const char* call) const;
  static const char* muxer_of(std::string_view url);
  void open(const FrameInfo& info);
  void close() noexcept;

  std::string url_;
  Options options_;
  Deadline deadline_{};
  AVFormatContext* format_ = nullptr;
  std::optional<detail::VideoEncoder> encoder_;
  bool has_header_ = false;
};

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
