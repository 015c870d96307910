// SPDX-License-Identifier: Apache-2.0
// StreamWriter: encodes frames and sends them to a server.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
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
  /// @errors kInvalidArgument: a URL of another kind; kUnavailable: nobody answers; kDeadlineExceeded; as of Writer for the
  /// encoder.
  StreamWriter(const std::string& url, const FrameInfo& info, Options options)
      : url_(url), options_(std::move(options)) {
    try {
      open(info);
    } catch (...) {
      close();
      throw;
    }
  }
  StreamWriter(StreamWriter&&) = delete;
  StreamWriter& operator=(StreamWriter&&) = delete;
  ~StreamWriter() { close(); }

  /// @errors as Writer::write(); kUnavailable: the server is gone; kDeadlineExceeded: it takes nothing in time.
  void write(const Frame& frame) {
    start_clock();
    encoder_->write(frame, format_);
  }
  /// Sends what the encoder still holds, and says goodbye. @errors as above
  void finish() {
    start_clock();
    encoder_->flush(format_);
    if (const int error = av_write_trailer(format_); error < 0) throw failure(error, "av_write_trailer");
    has_header_ = false;
  }

 private:
  std::string what() const { return "stream \"" + url_ + "\""; }
  static int interrupted(void* opaque) {
    const auto* self = static_cast<StreamWriter*>(opaque);
    return self->is_cancelled() || Clock::now() >= self->deadline_ ? 1 : 0;
  }
  bool is_cancelled() const { return options_.cancelled && *options_.cancelled; }
  void start_clock() { deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.timeout); }
  Error failure(int error, const char* call) const {
    if (is_cancelled()) return Error(Code::kCancelled, what() + " was told to stop");
    if (error == AVERROR_EXIT)
      return Error(Code::kDeadlineExceeded, what() + " took nothing in time; the server is slow, stalled or gone", call,
                   error);
    return detail::make_error(error, what() + " cannot be sent", call);
  }

  static const char* muxer_of(std::string_view url) {
    const std::string_view scheme = url.substr(0, url.find("://"));
    if (scheme == "rtsp" || scheme == "rtsps") return "rtsp";
    if (scheme.starts_with("rtmp")) return "flv";
    if (scheme == "srt" || scheme == "udp" || scheme == "tcp") return "mpegts";
    if (scheme == "rtp") return "rtp";
    return nullptr;
  }

  void open(const FrameInfo& info) {
    const char* const muxer = muxer_of(url_);
    if (!muxer)
      throw Error(Code::kInvalidArgument, what() + " is no URL of rtsp, rtmp, srt, udp, tcp or rtp; give one");
    if (const int error = avformat_alloc_output_context2(&format_, nullptr, muxer, url_.c_str()); error < 0)
      throw failure(error, "avformat_alloc_output_context2");
    format_->interrupt_callback = {&StreamWriter::interrupted, this};
    start_clock();
    encoder_.emplace(what(), info, options_.encoder, *format_->oformat);
    encoder_->add_to(format_);
    detail::Dictionary dictionary;
    for (const auto& [key, value] : options_.output) dictionary.set(key, value);
    if ((format_->oformat->flags & AVFMT_NOFILE) == 0) {
      if (const int error =
              avio_open2(&format_->pb, url_.c_str(), AVIO_FLAG_WRITE, &format_->interrupt_callback, dictionary.get());
          error < 0)
        throw failure(error, "avio_open2");
    }
    if (const int error = avformat_write_header(format_, dictionary.get()); error < 0)
      throw failure(error, "avformat_write_header");
    has_header_ = true;
    dictionary.check_all_taken(what());
  }

  void close() noexcept {
    deadline_ = Clock::now() + std::chrono::seconds(1);  // Limits the goodbye.
    if (!format_) return;
    if (has_header_) av_write_trailer(format_);  // Muxers without files end their connection here only.
    encoder_.reset();
    if (format_->pb && (format_->oformat->flags & AVFMT_NOFILE) == 0) avio_closep(&format_->pb);
    avformat_free_context(format_);
    format_ = nullptr;
  }

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
