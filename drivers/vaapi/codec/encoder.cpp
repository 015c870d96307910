// SPDX-License-Identifier: Apache-2.0
// libx264 and libx265 without delay: no B pictures, no lookahead, slice threads.
#include <tenon/drivers/vaapi/codec/encoder.hpp>

#include <algorithm>
#include <new>
#include <string>

#include <tenon/core/error.hpp>

#include <tenon/drivers/vaapi/codec/codecs.hpp>

extern "C" {
#include <libavutil/opt.h>
}

namespace tenon::va {
namespace {

const char* preset_of(std::uint32_t level) {
  constexpr const char* kPresets[kQualityLevels + 1] = {"veryfast", "slow",     "medium",    "fast",
                                                        "faster",   "veryfast", "superfast", "ultrafast"};
  return kPresets[std::min(level, kQualityLevels)];
}

/// What libavcodec calls an encoder and its settings.
struct Names {
  const char *encoder, *parameters;
};
Names names_of(EncoderSettings::Codec codec) {
  if (codec == EncoderSettings::Codec::kHevc) return {"libx265", "x265-params"};
  return {"libx264", "x264-params"};
}

}  // namespace

bool Encoder::exists(EncoderSettings::Codec codec, AVPixelFormat pixels) {
  const AVCodec* found = avcodec_find_encoder_by_name(names_of(codec).encoder);
  if (!found || !found->pix_fmts) return false;
  for (const AVPixelFormat* each = found->pix_fmts; *each != AV_PIX_FMT_NONE; ++each)
    if (*each == pixels) return true;
  return false;
}

bool Encoder::continues(const EncoderSettings& settings, const PictureSettings& first) const {
  return settings == settings_ && (settings.codec == EncoderSettings::Codec::kH264 || first.has_rate_of(first_));
}

bool EncoderSettings::operator==(const EncoderSettings& other) const {
  return codec == other.codec && pixels == other.pixels && width_px == other.width_px && height_px == other.height_px &&
         profile == other.profile && cabac == other.cabac && transform_8x8 == other.transform_8x8 &&
         full_range == other.full_range && quality_level == other.quality_level && frames == other.frames &&
         seconds == other.seconds && sample_aspect.num == other.sample_aspect.num &&
         sample_aspect.den == other.sample_aspect.den && rate == other.rate &&
         is_constant_bit_rate == other.is_constant_bit_rate;
}

Encoder::Encoder(const EncoderSettings& settings, const PictureSettings& first)
    : settings_(settings), first_(first), frame_(av_frame_alloc()), packet_(av_packet_alloc()) {
  const bool is_hevc = settings.codec == EncoderSettings::Codec::kHevc;
  const Names names = names_of(settings.codec);
  const AVCodec* codec = avcodec_find_encoder_by_name(names.encoder);
  if (!codec) throw Error(Code::kUnavailable, std::string("libavcodec has no encoder ") + names.encoder);
  context_.reset(avcodec_alloc_context3(codec));
  if (!context_ || !frame_ || !packet_) throw std::bad_alloc();
  context_->log_level_offset = kQuiet;
  context_->width = settings.width_px;
  context_->height = settings.height_px;
  context_->pix_fmt = settings.pixels;
  context_->color_range = settings.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  context_->sample_aspect_ratio = settings.sample_aspect;
  context_->framerate = {settings.frames, settings.seconds};
  context_->time_base = {settings.seconds, settings.frames};
  context_->gop_size = 1 << 30;  // The client decides where sequences begin.
  context_->max_b_frames = 0;
  context_->refs = 1;
  context_->thread_type = FF_THREAD_SLICE;
  context_->thread_count = codec_threads();
  void* own = context_->priv_data;
  av_opt_set(own, "preset", preset_of(settings.quality_level), 0);
  av_opt_set(own, "tune", "zerolatency", 0);
  av_opt_set(own, "profile", settings.profile, 0);
  av_opt_set(own, names.parameters, (is_hevc ? hevc_options() : h264_options()).c_str(), 0);
  av_opt_set_int(own, "forced-idr", 1, 0);
  set_rate(first);
  if (const int error = avcodec_open2(context_.get(), codec, nullptr); error < 0)
    throw Error(Code::kUnavailable, std::string("the encoder ") + names.encoder + " refuses the settings",
                "avcodec_open2", error);
}

std::string Encoder::h264_options() const {
  std::string options = "scenecut=0:force-cfr=1:cabac=" + std::to_string(settings_.cabac) +
                        ":8x8dct=" + std::to_string(settings_.transform_8x8);
  // A constant rate factor without adaptive quantisation equals a quantiser that may change with every picture.
  if (settings_.rate == EncoderSettings::Rate::kConstantQuantiser)
    options += ":aq-mode=0:qcomp=1:ipratio=1:qpstep=69:mbtree=0";
  return options;
}

std::string Encoder::hevc_options() const {
  // One picture at a time, so that each is coded when it was given. It would write messages of its own.
  std::string options =
      "log-level=none:scenecut=0:open-gop=0:bframes=0:rc-lookahead=0:frame-threads=1:ref=1:info=0:pools=" +
      std::to_string(codec_threads());
  if (settings_.rate == EncoderSettings::Rate::kConstantQuantiser) options += ":ipratio=1";
  return options;
}

void Encoder::set_rate(const PictureSettings& picture) {
  if (settings_.rate != EncoderSettings::Rate::kBits) {
    // 0 would be lossless, which only one profile of H.264 has.
    const double quality = std::clamp(picture.quality, 1.0, 51.0);
    const bool is_quantiser =
        settings_.codec == EncoderSettings::Codec::kHevc && settings_.rate == EncoderSettings::Rate::kConstantQuantiser;
    if (is_quantiser)
      av_opt_set_int(context_->priv_data, "qp", static_cast<std::int64_t>(quality), 0);
    else
      av_opt_set_double(context_->priv_data, "crf", quality, 0);
    return;
  }
  context_->bit_rate = picture.bit_rate;
  context_->rc_max_rate = settings_.is_constant_bit_rate ? picture.bit_rate : picture.max_bit_rate;
  context_->rc_buffer_size = picture.buffer_bits > 0
                                 ? picture.buffer_bits
                                 : static_cast<int>(std::min<std::int64_t>(context_->rc_max_rate, 1 << 30));
}

bool Encoder::encode(const Pixels& pixels, const PictureSettings& picture, Bytes& coded) {
  set_rate(picture);
  frame_->format = pixels.format;
  frame_->width = pixels.width_px;
  frame_->height = pixels.height_px;
  for (std::size_t plane = 0; plane < 4; ++plane) {
    frame_->data[plane] = pixels.data[plane];
    frame_->linesize[plane] = pixels.pitch[plane];
  }
  frame_->pts = count_++;
  frame_->pict_type = picture.is_idr ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_P;
  const int sent = avcodec_send_frame(context_.get(), frame_.get());
  std::fill_n(frame_->data, 4, nullptr);  // These pointed into the surface, which was copied.
  if (sent < 0) return false;
  coded.clear();
  while (avcodec_receive_packet(context_.get(), packet_.get()) >= 0) {
    coded.insert(coded.end(), packet_->data, packet_->data + packet_->size);
    av_packet_unref(packet_.get());
  }
  return !coded.empty();
}

}  // namespace tenon::va
