// SPDX-License-Identifier: Apache-2.0
// Sending of encoded video.
#include <tenon/frameworks/ffmpeg/stream_writer.hpp>

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

TENON_INLINE StreamWriter::StreamWriter(const std::string& url, const FrameInfo& info, Options options)
    : url_(url), options_(std::move(options)) {
  try {
    open(info);
  } catch (...) {
    close();
    throw;
  }
}

TENON_INLINE void StreamWriter::write(const Frame& frame) {
  start_clock();
  encoder_->write(frame, format_);
}

TENON_INLINE void StreamWriter::finish() {
  start_clock();
  encoder_->flush(format_);
  if (const int error = av_write_trailer(format_); error < 0) throw failure(error, "av_write_trailer");
  has_header_ = false;
}

TENON_INLINE int StreamWriter::interrupted(void* opaque) {
  const auto* self = static_cast<StreamWriter*>(opaque);
  return self->is_cancelled() || Clock::now() >= self->deadline_ ? 1 : 0;
}

TENON_INLINE Error StreamWriter::failure(int error, const char* call) const {
  if (is_cancelled()) return Error(Code::kCancelled, what() + " was told to stop");
  if (error == AVERROR_EXIT)
    return Error(Code::kDeadlineExceeded, what() + " took nothing in time; the server is slow, stalled or gone", call,
                 error);
  return detail::make_error(error, what() + " cannot be sent", call);
}

TENON_INLINE const char* StreamWriter::muxer_of(std::string_view url) {
  const std::string_view scheme = url.substr(0, url.find("://"));
  if (scheme == "rtsp" || scheme == "rtsps") return "rtsp";
  if (scheme.starts_with("rtmp")) return "flv";
  if (scheme == "srt" || scheme == "udp" || scheme == "tcp") return "mpegts";
  if (scheme == "rtp") return "rtp";
  return nullptr;
}

TENON_INLINE void StreamWriter::open(const FrameInfo& info) {
  const char* const muxer = muxer_of(url_);
  if (!muxer) throw Error(Code::kInvalidArgument, what() + " is no URL of rtsp, rtmp, srt, udp, tcp or rtp; give one");
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

TENON_INLINE void StreamWriter::close() noexcept {
  deadline_ = Clock::now() + std::chrono::seconds(1);  // Limits the goodbye.
  if (!format_) return;
  if (has_header_) av_write_trailer(format_);  // Muxers without files end their connection here only.
  encoder_.reset();
  if (format_->pb && (format_->oformat->flags & AVFMT_NOFILE) == 0) avio_closep(&format_->pb);
  avformat_free_context(format_);
  format_ = nullptr;
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
