// SPDX-License-Identifier: Apache-2.0
// Writer: encodes frames into a file that appears only when it is complete.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

struct WriterOptions {
  double fps = 25;                  ///< For frames without timestamps.
  std::string codec;                ///< FFmpeg's name of an encoder; empty: libx264 if built in, else mpeg4.
  int quality = 23;                 ///< libx264's crf; mpeg4's quantiser is derived from it. Lower is better.
  std::string preset = "veryfast";  ///< For libx264.
  int threads = 0;                  ///< 0: as many as there are processors.
  Ledger* ledger = nullptr;         ///< Where conversions are booked; null: the process ledger.
};

/// Writes one video stream. The file is built under a temporary name beside the target and renamed by finish(): a
/// program that dies or fails leaves the old file in place. @thread one at a time.
class Writer {
 public:
  /// Creates the temporary file at once, so that a path that cannot be written fails before the work.
  /// @param info  Size, colour and usual format of the frames. I420, NV12 (libx264 only) and I422, I444 (libx264) go to
  ///              the encoder unchanged; other formats become I420, booked as "ffmpeg.swscale": NV12 and NV21
  ///              as copied, since no value changes, the rest as converted.
  /// @errors kNotFound: no such folder; kPermissionDenied; kInvalidArgument: a folder, an extension without an FFmpeg
  ///         container, odd extents; kUnimplemented: no such encoder, or a container that cannot store info.rotation.
  Writer(const std::filesystem::path& path, const FrameInfo& info, WriterOptions options = {})
      : path_(path), info_(info), options_(std::move(options)) {
    try {
      open();
    } catch (...) {
      discard();
      throw;
    }
  }
  Writer(Writer&&) = delete;
  Writer& operator=(Writer&&) = delete;
  /// Without finish(): removes the temporary file.
  ~Writer() { discard(); }

  /// Encodes `frame`. Reads its bytes in place; the encoder may hold them until finish().
  /// @errors kInvalidArgument: another size or rotation than the first; kFailedPrecondition: after finish(), or no host
  /// address.
  void write(const Frame& frame) {
    if (!format_) throw Error(Code::kFailedPrecondition, what() + ": it is finished; open another one");
    if (frame.info().rotation != info_.rotation) {
      throw Error(Code::kInvalidArgument,
                  what() + ": a frame to be turned by " + std::to_string(degrees(frame.info().rotation)) +
                      " degrees cannot go into a video turned by " + std::to_string(degrees(info_.rotation)));
    }
    if (frame.info().width_px != info_.width_px || frame.info().height_px != info_.height_px) {
      throw Error(Code::kInvalidArgument, what() + ": a frame of " + std::to_string(frame.info().width_px) + "x" +
                                              std::to_string(frame.info().height_px) + " cannot go into a video of " +
                                              std::to_string(info_.width_px) + "x" + std::to_string(info_.height_px));
    }
    FramePtr picture = av_frame(frame, default_deadline(), options_.ledger);
    const FormatMapping* mapping = find_mapping(frame.info().format);
    // Planes are in the AVFrame's order here, so YV12 counts as yuv420p.
    if (mapping->av != codec_->pix_fmt) {
      FramePtr out = detail::new_frame();
      out->format = codec_->pix_fmt;
      out->width = picture->width;
      out->height = picture->height;
      if (const int error = av_frame_get_buffer(out.get(), 0); error < 0)
        throw detail::make_error(error, what(), "av_frame_get_buffer");
      converter_.convert(*picture, *out, options_.ledger ? *options_.ledger : Ledger::process());
      picture = std::move(out);
    }
    picture->pts = next_time(frame.timestamp_ns());
    picture->time_base = codec_->time_base;
    picture->pict_type = AV_PICTURE_TYPE_NONE;  // Key frames are chosen anew, not taken from the decoder.
    encode(picture.get());
    ++frames_;
  }

  /// Writes what the encoder still holds, closes the file and renames it to its target. Nothing may be written after.
  /// @errors kResourceExhausted: the disk is full; kPermissionDenied: the target cannot be replaced.
  void finish() {
    if (!format_) return;
    encode(nullptr);
    if (const int error = av_write_trailer(format_); error < 0)
      throw detail::make_error(error, what(), "av_write_trailer");
    if (const int error = avio_closep(&format_->pb); error < 0) throw detail::make_error(error, what(), "avio_close");
    std::error_code failure;
    std::filesystem::rename(partial_, path_, failure);
    if (failure)
      throw Error(Code::kPermissionDenied, what() + " cannot be put in place: " + failure.message(), "rename",
                  failure.value());
    partial_.clear();
    discard();
  }

  std::uint64_t frames_written() const { return frames_; }
  /// The encoder's name, such as "libx264".
  std::string codec() const { return encoder_name_; }
  /// The temporary file until finish(), for programs that remove it when ended by a signal; empty afterwards.
  const std::string& temporary_path() const { return partial_; }

 private:
  std::string what() const { return "output \"" + path_.string() + "\""; }

  void open() {
    std::error_code ignored;
    if (path_.empty() || path_.filename().empty()) throw Error(Code::kInvalidArgument, what() + ": give a file name");
    if (std::filesystem::is_directory(path_, ignored))
      throw Error(Code::kInvalidArgument, what() + " is a folder; give a file name");
    const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
    if (!std::filesystem::is_directory(folder, ignored))
      throw Error(Code::kNotFound, what() + ": there is no folder \"" + folder.string() + "\"; make it first");
    if (std::filesystem::exists(path_, ignored) && ::access(path_.c_str(), W_OK) != 0) {
      throw Error(Code::kPermissionDenied, what() + " exists and may not be overwritten; choose another name");
    }
    const AVOutputFormat* container = av_guess_format(nullptr, path_.c_str(), nullptr);
    if (!container || container->video_codec == AV_CODEC_ID_NONE) {
      throw Error(Code::kInvalidArgument, what() + ": no video container goes by that extension; use .mp4 or .mkv");
    }
    if (info_.rotation != Rotation::kNone && !says_rotation(*container)) {
      throw Error(Code::kUnimplemented, what() + ": this container cannot say that its pictures are to be turned by " +
                                            std::to_string(degrees(info_.rotation)) +
                                            " degrees; use .mp4 or .mov, or write upright frames");
    }
    const std::string name = make_partial(folder);
    if (const int error = avformat_alloc_output_context2(&format_, container, nullptr, name.c_str()); error < 0) {
      throw detail::make_error(error, what(), "avformat_alloc_output_context2");
    }
    open_encoder(*container);
    AVStream* stream = avformat_new_stream(format_, nullptr);
    if (!stream) throw Error(Code::kResourceExhausted, what() + ": no memory for a stream");
    if (const int error = avcodec_parameters_from_context(stream->codecpar, codec_.get()); error < 0) {
      throw detail::make_error(error, what(), "avcodec_parameters_from_context");
    }
    set_rotation(*stream, info_.rotation);
    stream->time_base = codec_->time_base;
    stream->avg_frame_rate = codec_->framerate;
    if (const int error = avio_open(&format_->pb, ("file:" + name).c_str(), AVIO_FLAG_WRITE); error < 0) {
      throw detail::make_error(error, what() + " cannot be written", "avio_open");
    }
    if (const int error = avformat_write_header(format_, nullptr); error < 0) {
      throw detail::make_error(error, what() + ": " + container->name + " takes no " + encoder_name_,
                               "avformat_write_header");
    }
  }

  /// The range of pictures that the converter makes: it keeps YUV's, and makes RGB limited.
  AVColorRange converted_range(const FormatMapping* mapping) const {
    const AVPixFmtDescriptor* of = mapping ? av_pix_fmt_desc_get(mapping->av) : nullptr;
    const bool is_yuv = of && (of->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) == 0;
    return is_yuv && info_.colour_range == ColourRange::kFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  }

  void open_encoder(const AVOutputFormat& container) {
    const AVCodec* encoder = nullptr;
    if (!options_.codec.empty()) {
      encoder = avcodec_find_encoder_by_name(options_.codec.c_str());
    } else {
      encoder = avcodec_find_encoder_by_name("libx264");
      if (!encoder || avformat_query_codec(&container, encoder->id, FF_COMPLIANCE_NORMAL) != 1)
        encoder = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
      if (!encoder || avformat_query_codec(&container, encoder->id, FF_COMPLIANCE_NORMAL) != 1)
        encoder = avcodec_find_encoder(container.video_codec);
    }
    if (!encoder || encoder->type != AVMEDIA_TYPE_VIDEO) {
      throw Error(Code::kUnimplemented,
                  what() + ": this FFmpeg has no video encoder \"" + options_.codec + "\"; leave the choice open");
    }
    encoder_name_ = encoder->name;
    if (info_.width_px == 0 || info_.height_px == 0 || info_.width_px > 16384 || info_.height_px > 16384 ||
        info_.width_px % 2 || info_.height_px % 2) {
      throw Error(Code::kInvalidArgument, what() + ": a video of " + std::to_string(info_.width_px) + "x" +
                                              std::to_string(info_.height_px) +
                                              " cannot be encoded; extents must be even and 2..16384");
    }
    codec_.reset(avcodec_alloc_context3(encoder));
    if (!codec_) throw Error(Code::kResourceExhausted, what() + ": no memory for an encoder");
    const bool x264 = encoder_name_ == "libx264";
    const FormatMapping* mapping = find_mapping(info_.format);
    const bool direct = mapping && (mapping->av == AV_PIX_FMT_YUV420P ||
                                    (x264 && (mapping->av == AV_PIX_FMT_NV12 || mapping->av == AV_PIX_FMT_YUV422P ||
                                              mapping->av == AV_PIX_FMT_YUV444P)));
    codec_->pix_fmt = direct ? mapping->av : AV_PIX_FMT_YUV420P;
    codec_->width = static_cast<int>(info_.width_px);
    codec_->height = static_cast<int>(info_.height_px);
    codec_->colorspace = av_colour_space(resolved_colour_space(info_));
    codec_->color_range = direct ? av_colour_range(resolved_colour_range(info_)) : converted_range(mapping);
    const AVRational rate = av_d2q(options_.fps > 0 ? options_.fps : 25, 1001000);
    codec_->framerate = rate;
    // Frames carry their own times, in a unit fine enough for any source. MPEG-4 has only 16 bits for it.
    codec_->time_base = x264 ? AVRational{1, 90000} : av_inv_q(rate);
    codec_->thread_count = options_.threads;
    if (format_->oformat->flags & AVFMT_GLOBALHEADER) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    detail::Dictionary dictionary;
    if (x264) {
      dictionary.set("preset", options_.preset);
      dictionary.set("crf", std::to_string(options_.quality));
    } else {
      codec_->flags |= AV_CODEC_FLAG_QSCALE;
      codec_->global_quality = FF_QP2LAMBDA * std::max(2, options_.quality / 6);
      codec_->bit_rate = 0;
    }
    if (const int error = avcodec_open2(codec_.get(), encoder, dictionary.get()); error < 0) {
      throw detail::make_error(error, what() + ": encoder " + encoder_name_, "avcodec_open2");
    }
  }

  /// Strictly increasing, whatever timestamps the source has.
  std::int64_t next_time(std::int64_t timestamp_ns) {
    const AVRational base = codec_->time_base;
    const std::int64_t step = std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(codec_->framerate), base));
    std::int64_t time = last_time_ ? *last_time_ + step : 0;
    if (timestamp_ns != kNoTimestamp) {
      if (!first_ns_) first_ns_ = timestamp_ns;
      const std::int64_t stated = av_rescale_q(timestamp_ns - *first_ns_, AVRational{1, 1'000'000'000}, base);
      time = last_time_ ? std::max(stated, *last_time_ + 1) : stated;
    }
    last_time_ = time;
    return time;
  }

  void encode(const AVFrame* picture) {
    int error = avcodec_send_frame(codec_.get(), picture);
    if (error < 0) throw detail::make_error(error, what() + ": encoder " + encoder_name_, "avcodec_send_frame");
    while ((error = avcodec_receive_packet(codec_.get(), packet_.get())) >= 0) {
      AVStream* stream = format_->streams[0];
      av_packet_rescale_ts(packet_.get(), codec_->time_base, stream->time_base);
      packet_->stream_index = 0;
      if (packet_->duration == 0) packet_->duration = av_rescale_q(1, av_inv_q(codec_->framerate), stream->time_base);
      error = av_interleaved_write_frame(format_, packet_.get());
      // A full disk shows as an error of the byte stream, not always of the call.
      if (error >= 0 && format_->pb && format_->pb->error < 0) error = format_->pb->error;
      if (error < 0) throw detail::make_error(error, what() + " cannot be written", "av_interleaved_write_frame");
    }
    if (error != AVERROR(EAGAIN) && error != AVERROR_EOF)
      throw detail::make_error(error, what() + ": encoder " + encoder_name_, "avcodec_receive_packet");
  }

  /// The muxers of MP4 and QuickTime write display matrices in every FFmpeg version.
  static bool says_rotation(const AVOutputFormat& container) {
    const std::string_view name = container.name;
    return name == "mov" || name == "mp4" || name == "3gp" || name == "3g2" || name == "ipod" || name == "ismv";
  }

  /// Creates an empty file beside the target, so that the rename stays within one file system.
  std::string make_partial(const std::filesystem::path& folder) {
    std::random_device random;
    for (int attempt = 0; attempt < 16; ++attempt) {
      std::string name =
          (folder / ("." + path_.filename().string() + "." + std::to_string(random()) + ".partial")).string();
      const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) {
        ::close(fd);
        partial_ = name;
        return name;
      }
      if (errno != EEXIST)
        throw detail::make_error(AVERROR(errno), what() + " cannot be written; choose a folder that you may write to",
                                 "open");
    }
    throw Error(Code::kAlreadyExists, what() + ": no free temporary name beside it");
  }

  void discard() noexcept {
    codec_.reset();
    if (format_) {
      if (format_->pb) avio_closep(&format_->pb);
      avformat_free_context(format_);
      format_ = nullptr;
    }
    if (!partial_.empty()) ::unlink(partial_.c_str());
    partial_.clear();
  }

  std::filesystem::path path_;
  std::string partial_;
  FrameInfo info_;
  WriterOptions options_;
  std::string encoder_name_;
  AVFormatContext* format_ = nullptr;
  CodecPtr codec_;
  PacketPtr packet_ = detail::new_packet();
  detail::Converter converter_;
  std::optional<std::int64_t> last_time_, first_ns_;
  std::uint64_t frames_ = 0;
};

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
