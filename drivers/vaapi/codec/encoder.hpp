// SPDX-License-Identifier: Apache-2.0
// libavcodec's H.264 encoder, one picture in and its coded bytes out.
#pragma once

#include <cstdint>
#include <memory>

#include <tenon/drivers/vaapi/codec/bits.hpp>
#include <tenon/drivers/vaapi/objects/format.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace tenon::va {

inline constexpr const char* kH264Encoder = "libx264";
/// Range of VAEncMiscParameterBufferQualityLevel: 1 is the best quality, this value the fastest.
inline constexpr std::uint32_t kQualityLevels = 7;

/// Settings of one sequence.
struct EncoderSettings {
  int width_px = 0, height_px = 0;  ///< Size after cropping, as decoders show it.
  const char* profile = "high";
  bool cabac = true, transform_8x8 = true, full_range = false;
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
  double quality = 26;                          ///< The quantiser, or x264's rate factor.
  std::int64_t bit_rate = 0, max_bit_rate = 0;  ///< In bits per second.
  int buffer_bits = 0;                          ///< Size of the decoder's coded picture buffer; 0: one second.
};

/// Encodes without reordering: every picture is predicted from the previous one. @thread one at a time.
class Encoder {
 public:
  /// @errors std::bad_alloc; tenon::Error: no such encoder here, or it refuses the settings.
  Encoder(const EncoderSettings& settings, const PictureSettings& first);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  const EncoderSettings& settings() const noexcept { return settings_; }
  /// @param pixels  NV12 or three planes of 4:2:0, of the size in the settings. Copied.
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

  const EncoderSettings settings_;
  std::int64_t count_ = 0;
  std::unique_ptr<AVFrame, Free> frame_;
  std::unique_ptr<AVPacket, Free> packet_;
  std::unique_ptr<AVCodecContext, Free> context_;
};

}  // namespace tenon::va
