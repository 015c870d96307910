// SPDX-License-Identifier: Apache-2.0
// An encoder of libavcodec, one picture in and its coded bytes out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenon/drivers/vaapi/codec/bits.hpp>
#include <tenon/drivers/vaapi/objects/format.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace tenon::va {

/// Range of VAEncMiscParameterBufferQualityLevel: 1 is the best quality, this value the fastest.
inline constexpr std::uint32_t kQualityLevels = 7;

/// Settings of one sequence.
struct EncoderSettings {
  enum class Codec { kH264, kHevc } codec = Codec::kH264;
  AVPixelFormat pixels = AV_PIX_FMT_NV12;  ///< What the encoder reads.
  int width_px = 0, height_px = 0;         ///< Size after cropping, as decoders show it.
  const char* profile = "high";
  bool cabac = true, transform_8x8 = true;  ///< H.264 has them.
  bool full_range = false;
  std::uint32_t quality_level = 0;  ///< 0: the default.
  int frames = 25, seconds = 1;     ///< Rate: frames per seconds.
  AVRational sample_aspect{0, 1};
  enum class Rate { kConstantQuantiser, kQuality, kBits } rate = Rate::kConstantQuantiser;
  bool is_constant_bit_rate = false;
  bool operator==(const EncoderSettings&) const;
};

/// Settings that may change from picture to picture.
struct PictureSettings {
  bool is_idr = false;
  double quality = 26;                          ///< The quantiser, or the encoder's rate factor.
  std::int64_t bit_rate = 0, max_bit_rate = 0;  ///< In bits per second.
  int buffer_bits = 0;                          ///< Size of the decoder's coded picture buffer; 0: one second.
  bool has_rate_of(const PictureSettings& other) const {
    return quality == other.quality && bit_rate == other.bit_rate && max_bit_rate == other.max_bit_rate &&
           buffer_bits == other.buffer_bits;
  }
};

/// Encodes without reordering: every picture is predicted from the previous one. @thread one at a time.
class Encoder {
 public:
  /// @errors std::bad_alloc; tenon::Error: no such encoder here, or it refuses the settings.
  Encoder(const EncoderSettings& settings, const PictureSettings& first);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Whether libavcodec has the encoder, and it takes these pixels.
  static bool exists(EncoderSettings::Codec codec, AVPixelFormat pixels);

  const EncoderSettings& settings() const noexcept { return settings_; }
  /// Whether a sequence with these settings can be encoded with it. libx265 keeps the rate with which it began.
  bool continues(const EncoderSettings& settings, const PictureSettings& first) const;
  /// @param pixels  In the settings' format and size. Copied.
  /// @param coded  Receives the coded picture, with its parameter sets if it is an IDR picture.
  /// @return False if the encoder fails.
  bool encode(const Pixels& pixels, const PictureSettings& picture, Bytes& coded);

 private:
  struct Free {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };
  void set_rate(const PictureSettings& picture);

  std::string h264_options() const;
  std::string hevc_options() const;

  const EncoderSettings settings_;
  const PictureSettings first_;
  std::int64_t count_ = 0;
  std::unique_ptr<AVFrame, Free> frame_;
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<AVCodecContext, Free> context_;
};

}  // namespace tenon::va
