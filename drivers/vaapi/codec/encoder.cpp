// SPDX-License-Identifier: Apache-2.0
// libx264 without delay: no B pictures, no lookahead, slice threads.
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

}  // namespace

bool EncoderSettings::operator==(const EncoderSettings& other) const {
  return width_px == other.width_px && height_px == other.height_px && profile == other.profile &&
         cabac == other.cabac && transform_8x8 == other.transform_8x8 && full_range == other.full_range &&
         quality_level == other.quality_level && frames == other.frames && seconds == other.seconds &&
         sample_aspect.num == other.sample_aspect.num && sample_aspect.den == other.sample_aspect.den &&
         rate == other.rate && is_constant_bit_rate == other.is_constant_bit_rate;
}

Encoder::Encoder(const EncoderSettings& settings, const PictureSettings& first)
    : settings_(settings), frame_(av_frame_alloc()), packet_(av_packet_alloc()) {
  const AVCodec* codec = avcodec_find_encoder_by_name(kH264Encoder);
  if (!codec) throw Error(Code::kUnavailable, std::string("libavcodec has no encoder ") + kH264Encoder);
  context_.reset(avcodec_alloc_context3(codec));
  if (!context_ || !frame_ || !packet_) throw std::bad_alloc();
  context_->log_level_offset = kQuiet;
  context_->width = settings.width_px;
  context_->height = settings.height_px;
  context_->pix_fmt = AV_PIX_FMT_NV12;
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
  std::string options = "scenecut=0:force-cfr=1:cabac=" + std::to_string(settings.cabac) +
                        ":8x8dct=" + std::to_string(settings.transform_8x8);
  // A constant rate factor without adaptive quantisation equals a quantiser that may change with every picture.
  if (settings.rate == EncoderSettings::Rate::kConstantQuantiser)
    options += ":aq-mode=0:qcomp=1:ipratio=1:qpstep=69:mbtree=0";
  av_opt_set(own, "preset", preset_of(settings.quality_level), 0);
  av_opt_set(own, "tune", "zerolatency", 0);
  av_opt_set(own, "profile", settings.profile, 0);
  av_opt_set(own, "x264-params", options.c_str(), 0);
  av_opt_set_int(own, "forced-idr", 1, 0);
  set_rate(first);
  if (const int error = avcodec_open2(context_.get(), codec, nullptr); error < 0)
    throw Error(Code::kUnavailable, std::string("the encoder ") + kH264Encoder + " refuses the settings",
                "avcodec_open2", error);
}

void Encoder::set_rate(const PictureSettings& picture) {
  if (settings_.rate != EncoderSettings::Rate::kBits) {
    // 0 would be lossless, which only one profile has.
    av_opt_set_double(context_->priv_data, "crf", std::clamp(picture.quality, 1.0, 51.0), 0);
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
