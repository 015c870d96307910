// SPDX-License-Identifier: Apache-2.0
// Audio in AVFrames, and its decoding.
#include <tenon/frameworks/ffmpeg/audio.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>

extern "C" {
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE ElementType sample_type(AVSampleFormat format) {
  switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8:
      return ElementType::kU8;
    case AV_SAMPLE_FMT_S16:
      return ElementType::kI16;
    case AV_SAMPLE_FMT_S32:
      return ElementType::kI32;
    case AV_SAMPLE_FMT_S64:
      return ElementType::kI64;
    case AV_SAMPLE_FMT_FLT:
      return ElementType::kF32;
    case AV_SAMPLE_FMT_DBL:
      return ElementType::kF64;
    default:
      return ElementType::kUndefined;
  }
}

/// The buffer of `frame` that holds `data`; null if none does. Frames of many channels have more than AVFrame::buf.
TENON_INLINE const AVBufferRef* audio_buffer_of(const AVFrame& frame, const std::uint8_t* data) {
  const auto holds = [data](const AVBufferRef* buffer) {
    return buffer && data >= buffer->data && data < buffer->data + buffer->size;
  };
  for (const AVBufferRef* buffer : frame.buf) {
    if (holds(buffer)) return buffer;
  }
  for (int i = 0; i < frame.nb_extended_buf; ++i) {
    if (holds(frame.extended_buf[i])) return frame.extended_buf[i];
  }
  return nullptr;
}

/// The samples of the frame in `lease`. @errors as wrap_audio()
TENON_INLINE AudioFrame build_audio(const Ref<FrameLease>& lease, AVRational time_base) {
  const AVFrame& frame = *lease->frame();
  const auto format = static_cast<AVSampleFormat>(frame.format);
  const char* format_name = av_get_sample_fmt_name(format);
  const std::string what = "AVFrame of audio " + std::string(format_name ? format_name : "of no format");
  AudioInfo info;
  info.sample = sample_type(format);
  info.channels = static_cast<std::uint32_t>(std::max(frame.ch_layout.nb_channels, 0));
  info.rate_hz = static_cast<std::uint32_t>(std::max(frame.sample_rate, 0));
  info.planar = info.channels > 1 && av_sample_fmt_is_planar(format) == 1;
  if (info.sample == ElementType::kUndefined || info.channels == 0 || info.rate_hz == 0 || frame.nb_samples <= 0)
    throw Error(Code::kInvalidArgument, what + ": no samples in it, or no rate");
  const auto count = static_cast<std::size_t>(frame.nb_samples);
  std::vector<Tensor> planes;
  for (std::size_t p = 0; p < (info.planar ? info.channels : 1); ++p) {
    const std::uint8_t* data = frame.extended_data[p];
    const AVBufferRef* buffer = audio_buffer_of(frame, data);
    if (!buffer)
      throw Error(Code::kInvalidArgument, what + ": channel " + std::to_string(p) +
                                              " lies in none of its buffers, so nothing would keep it alive");
    Ref<Memory> memory;
    for (const Tensor& earlier : planes) {
      if (earlier.memory()->host() == buffer->data) memory = earlier.memory();
    }
    if (!memory) memory = BufferMemory::over(buffer, lease);
    const Shape shape = info.planar ? Shape{count} : Shape{count, info.channels};
    planes.emplace_back(TensorInfo{info.sample, shape, {}}, std::move(memory),
                        static_cast<std::size_t>(data - buffer->data), lease);
  }
  const std::int64_t time = frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : frame.pts;
  return AudioFrame(info, std::move(planes), to_ns(time, time_base.num > 0 ? time_base : frame.time_base));
}

}  // namespace detail

TENON_INLINE AudioFrame wrap_audio(const AVFrame* frame, AVRational time_base) {
  if (!frame) throw Error(Code::kInvalidArgument, "ffmpeg::wrap_audio: a null AVFrame");
  if (!frame->buf[0])
    throw Error(
        Code::kInvalidArgument,
        "ffmpeg::wrap_audio: an AVFrame that is not reference-counted; give it buffers with av_frame_get_buffer");
  const Ref<FrameLease> lease = FrameLease::take();
  if (const int error = av_frame_ref(lease->frame(), frame); error < 0)
    throw detail::make_error(error, "ffmpeg::wrap_audio", "av_frame_ref");
  return detail::build_audio(lease, time_base);
}

TENON_INLINE Audio::Audio(const std::string& name, AudioOptions options)
    : options_(std::move(options)), input_(name, options_.input, AVMEDIA_TYPE_AUDIO), name_(name) {
  const AVCodecParameters& parameters = *input_.stream()->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  if (!codec)
    throw Error(Code::kUnimplemented,
                what() + ": this FFmpeg has no decoder for " + avcodec_get_name(parameters.codec_id));
  codec_.reset(avcodec_alloc_context3(codec));
  if (!codec_) throw Error(Code::kResourceExhausted, "audio: no memory for a decoder");
  if (const int error = avcodec_parameters_to_context(codec_.get(), &parameters); error < 0)
    throw detail::make_error(error, what(), "avcodec_parameters_to_context");
  codec_->pkt_timebase = input_.stream()->time_base;
  if (const int error = avcodec_open2(codec_.get(), codec, nullptr); error < 0)
    throw detail::make_error(error, what() + ": decoder " + codec->name, "avcodec_open2");
  packet_ = detail::new_packet();
  frame_ = detail::new_frame();
}

TENON_INLINE std::optional<AudioFrame> Audio::read(Deadline deadline) {
  while (true) {
    const int error = avcodec_receive_frame(codec_.get(), frame_.get());
    if (error == 0) {
      if (auto audio = finish(frame_.get())) return audio;
      continue;
    }
    if (error == AVERROR_EOF) return finish(nullptr);
    if (error != AVERROR(EAGAIN))
      throw detail::make_error(error, what() + " cannot be decoded on", "avcodec_receive_frame");
    const bool more = input_.read(packet_.get(), deadline);
    const int sent = avcodec_send_packet(codec_.get(), more ? packet_.get() : nullptr);
    av_packet_unref(packet_.get());
    if (sent < 0 && sent != AVERROR_INVALIDDATA && sent != AVERROR_EOF)
      throw detail::make_error(sent, what() + " cannot be decoded on", "avcodec_send_packet");
  }
}

TENON_INLINE std::optional<AudioFrame> Audio::read() {
  return read(Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.input.read_timeout));
}

TENON_INLINE void Audio::FreeResampler::operator()(SwrContext* resampler) const { swr_free(&resampler); }

TENON_INLINE std::optional<AudioFrame> Audio::finish(AVFrame* decoded) {
  const bool other =
      decoded && ((options_.rate_hz != 0 && options_.rate_hz != static_cast<std::uint32_t>(decoded->sample_rate)) ||
                  (options_.channels != 0 && static_cast<int>(options_.channels) != decoded->ch_layout.nb_channels));
  if (!resampler_ && !other) {
    if (!decoded) return std::nullopt;
    Ref<FrameLease> lease = FrameLease::take();
    av_frame_move_ref(lease->frame(), decoded);
    AudioFrame audio = detail::build_audio(lease, input_.stream()->time_base);
    if (audio.timestamp_ns() != kNoTimestamp) audio.set_timestamp_ns(time_.next(audio.timestamp_ns(), step_ns_));
    step_ns_ = av_rescale(static_cast<std::int64_t>(audio.sample_count()), 1'000'000'000, audio.info().rate_hz);
    return audio;
  }
  return resample(decoded);
}

TENON_INLINE std::optional<AudioFrame> Audio::resample(AVFrame* decoded) {
  if (!decoded && std::exchange(flushed_, true)) return std::nullopt;
  Ref<FrameLease> lease = FrameLease::take();
  AVFrame& out = *lease->frame();
  // libswresample takes a layout that is not said for the usual one, and later for another than that.
  if (decoded && decoded->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
    av_channel_layout_default(&decoded->ch_layout, decoded->ch_layout.nb_channels);
  if (decoded && !resampler_) {
    rate_hz_ = options_.rate_hz != 0 ? static_cast<int>(options_.rate_hz) : decoded->sample_rate;
    channels_ = options_.channels != 0 ? static_cast<int>(options_.channels) : decoded->ch_layout.nb_channels;
    begin_ns_ = to_ns(decoded->best_effort_timestamp, input_.stream()->time_base);
    open_resampler(*decoded);
  }
  out.format = AV_SAMPLE_FMT_FLT;
  out.sample_rate = rate_hz_;
  av_channel_layout_default(&out.ch_layout, channels_);
  const int error = swr_convert_frame(resampler_.get(), &out, decoded);
  if (error < 0)
    throw detail::make_error(error, what() + ": its samples changed in a way that cannot be resampled on",
                             "swr_convert_frame");
  if (decoded) book(*decoded);
  if (decoded) av_frame_unref(decoded);
  if (out.nb_samples == 0) return std::nullopt;
  AudioFrame audio = detail::build_audio(lease, AVRational{0, 1});
  if (begin_ns_ != kNoTimestamp) audio.set_timestamp_ns(begin_ns_ + av_rescale(made_, 1'000'000'000, rate_hz_));
  made_ += out.nb_samples;
  return audio;
}

TENON_INLINE void Audio::open_resampler(AVFrame& from) {
  AVChannelLayout to{};
  av_channel_layout_default(&to, channels_);
  SwrContext* made = nullptr;
  int error = swr_alloc_set_opts2(&made, &to, AV_SAMPLE_FMT_FLT, rate_hz_, &from.ch_layout,
                                  static_cast<AVSampleFormat>(from.format), from.sample_rate, 0, nullptr);
  resampler_.reset(made);
  if (error >= 0) error = av_opt_set_double(made, "rematrix_maxval", 1, 0);
  if (error >= 0) error = swr_init(made);
  if (error < 0) throw detail::make_error(error, what() + " cannot be resampled", "swr_init");
}

TENON_INLINE void Audio::book(const AVFrame& decoded) const {
  static const EdgeId edge = register_edge("ffmpeg.swresample");
  Ledger& ledger = options_.input.ledger ? *options_.input.ledger : Ledger::process();
  const int bytes = av_samples_get_buffer_size(nullptr, decoded.ch_layout.nb_channels, decoded.nb_samples,
                                               static_cast<AVSampleFormat>(decoded.format), 1);
  ledger.book_map(edge, false);
  ledger.book_converted(edge, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0);
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
