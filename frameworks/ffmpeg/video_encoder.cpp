// SPDX-License-Identifier: Apache-2.0
// Frames to packets of a video stream.
#include <tenon/frameworks/ffmpeg/video_encoder.hpp>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE VideoEncoder::VideoEncoder(std::string what, const FrameInfo& info, WriterOptions options,
                                        const AVOutputFormat& container)
    : what_(std::move(what)), info_(info), options_(std::move(options)) {
  open(container);
}

TENON_INLINE void VideoEncoder::add_to(AVFormatContext* format) {
  AVStream* stream = avformat_new_stream(format, nullptr);
  if (!stream) throw Error(Code::kResourceExhausted, what_ + ": no memory for a stream");
  if (const int error = avcodec_parameters_from_context(stream->codecpar, codec_.get()); error < 0) {
    throw make_error(error, what_, "avcodec_parameters_from_context");
  }
  set_rotation(*stream, info_.rotation);
  stream->time_base = codec_->time_base;
  stream->avg_frame_rate = codec_->framerate;
}

TENON_INLINE void VideoEncoder::write(const Frame& frame, AVFormatContext* format) {
  if (frame.info().rotation != info_.rotation) {
    const auto turn = [](Rotation rotation) {
      return rotation == Rotation::kNone ? std::string("shown as stored") : tenon::to_string(rotation);
    };
    throw Error(Code::kInvalidArgument, what_ + ": a frame that is to be " + turn(frame.info().rotation) +
                                            " cannot go into a video whose pictures are to be " + turn(info_.rotation));
  }
  if (frame.info().width_px != info_.width_px || frame.info().height_px != info_.height_px) {
    throw Error(Code::kInvalidArgument, what_ + ": a frame of " + std::to_string(frame.info().width_px) + "x" +
                                            std::to_string(frame.info().height_px) + " cannot go into a video of " +
                                            std::to_string(info_.width_px) + "x" + std::to_string(info_.height_px));
  }
  FramePtr picture = av_frame(frame, default_deadline(), options_.ledger);
  const FormatMapping* mapping = find_mapping(frame.info().format);
  // Planes are in the AVFrame's order here, so YV12 counts as yuv420p.
  if (mapping->av != codec_->pix_fmt) {
    FramePtr out = new_frame();
    out->format = codec_->pix_fmt;
    out->width = picture->width;
    out->height = picture->height;
    if (const int error = av_frame_get_buffer(out.get(), 0); error < 0)
      throw make_error(error, what_, "av_frame_get_buffer");
    converter_.convert(*picture, *out, options_.ledger ? *options_.ledger : Ledger::process());
    picture = std::move(out);
  }
  picture->pts = next_time(frame.timestamp_ns());
  picture->time_base = codec_->time_base;
  picture->pict_type = AV_PICTURE_TYPE_NONE;  // Key frames are chosen anew, not taken from the decoder.
  encode(picture.get(), format);
}

TENON_INLINE AVColorRange VideoEncoder::converted_range(const FormatMapping* mapping) const {
  const AVPixFmtDescriptor* of = mapping ? av_pix_fmt_desc_get(mapping->av) : nullptr;
  const bool is_yuv = of && (of->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) == 0;
  return is_yuv && resolved_colour_range(info_) == ColourRange::kFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
}

TENON_INLINE bool VideoEncoder::takes(const AVOutputFormat& container, AVCodecID codec) {
  constexpr std::string_view kStreams[] = {"mpegts", "rtp", "rtp_mpegts", "rtsp"};
  const int answer = avformat_query_codec(&container, codec, FF_COMPLIANCE_NORMAL);
  return answer == 1 || (answer == AVERROR_PATCHWELCOME && std::ranges::count(kStreams, container.name) != 0);
}

TENON_INLINE void VideoEncoder::open(const AVOutputFormat& container) {
  const AVCodec* encoder = nullptr;
  if (!options_.codec.empty()) {
    encoder = avcodec_find_encoder_by_name(options_.codec.c_str());
  } else {
    encoder = avcodec_find_encoder_by_name("libx264");
    if (!encoder || !takes(container, encoder->id)) encoder = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
    if (!encoder || !takes(container, encoder->id)) encoder = avcodec_find_encoder(container.video_codec);
  }
  if (!encoder || encoder->type != AVMEDIA_TYPE_VIDEO) {
    throw Error(Code::kUnimplemented,
                what_ + ": this FFmpeg has no video encoder \"" + options_.codec + "\"; leave the choice open");
  }
  name_ = encoder->name;
  if (info_.width_px == 0 || info_.height_px == 0 || info_.width_px > 16384 || info_.height_px > 16384 ||
      info_.width_px % 2 || info_.height_px % 2) {
    throw Error(Code::kInvalidArgument, what_ + ": a video of " + std::to_string(info_.width_px) + "x" +
                                            std::to_string(info_.height_px) +
                                            " cannot be encoded; extents must be even and 2..16384");
  }
  codec_.reset(avcodec_alloc_context3(encoder));
  if (!codec_) throw Error(Code::kResourceExhausted, what_ + ": no memory for an encoder");
  const bool x264 = name_ == "libx264";
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
  if (container.flags & AVFMT_GLOBALHEADER) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  Dictionary dictionary;
  if (x264) {
    dictionary.set("preset", options_.preset);
    dictionary.set("crf", std::to_string(options_.quality));
    if (options_.low_delay) dictionary.set("tune", "zerolatency");
  } else {
    codec_->flags |= AV_CODEC_FLAG_QSCALE;
    codec_->global_quality = FF_QP2LAMBDA * std::max(2, options_.quality / 6);
    codec_->bit_rate = 0;
  }
  if (const int error = avcodec_open2(codec_.get(), encoder, dictionary.get()); error < 0) {
    throw make_error(error, what_ + ": encoder " + name_, "avcodec_open2");
  }
}

TENON_INLINE std::int64_t VideoEncoder::next_time(std::int64_t timestamp_ns) {
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

TENON_INLINE void VideoEncoder::encode(const AVFrame* picture, AVFormatContext* format) {
  int error = avcodec_send_frame(codec_.get(), picture);
  if (error < 0) throw make_error(error, what_ + ": encoder " + name_, "avcodec_send_frame");
  while ((error = avcodec_receive_packet(codec_.get(), packet_.get())) >= 0) {
    AVStream* stream = format->streams[0];
    av_packet_rescale_ts(packet_.get(), codec_->time_base, stream->time_base);
    packet_->stream_index = 0;
    if (packet_->duration == 0) packet_->duration = av_rescale_q(1, av_inv_q(codec_->framerate), stream->time_base);
    error = av_interleaved_write_frame(format, packet_.get());
    // A full disk shows as an error of the byte stream, not always of the call.
    if (error >= 0 && format->pb && format->pb->error < 0) error = format->pb->error;
    if (error < 0) throw make_error(error, what_ + " cannot be written", "av_interleaved_write_frame");
  }
  if (error != AVERROR(EAGAIN) && error != AVERROR_EOF)
    throw make_error(error, what_ + ": encoder " + name_, "avcodec_receive_packet");
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
