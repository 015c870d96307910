// SPDX-License-Identifier: Apache-2.0
// H.264: translates a client's parameters into libx264's settings. libx264 writes the stream's headers, so this is a
// driver without packed headers in VA-API's terms. Every picture refers to the previous one, so there are no B
// pictures.
#include <tenon/drivers/vaapi/codec/encode_task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include <tenon/drivers/vaapi/codec/encoder.hpp>
#include <tenon/drivers/vaapi/codec/picture.hpp>
#include <tenon/drivers/vaapi/objects/canvas.hpp>
#include <tenon/drivers/vaapi/objects/convert.hpp>

namespace tenon::va {
namespace {

constexpr std::uint32_t kRateControls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_ICQ;

const char* profile_name(VAProfile profile) {
  return profile == VAProfileH264High ? "high" : profile == VAProfileH264Main ? "main" : "baseline";
}

class EncodeTask final : public Task {
 public:
  EncodeTask(VAProfile profile, std::uint32_t rate_control) : profile_(profile), rate_control_(rate_control) {}

  bool takes(VABufferType type) const override {
    return type == VAEncCodedBufferType || type == VAEncSequenceParameterBufferType ||
           type == VAEncPictureParameterBufferType || type == VAEncSliceParameterBufferType ||
           type == VAEncMiscParameterBufferType || type == VAEncPackedHeaderParameterBufferType ||
           type == VAEncPackedHeaderDataBufferType;  // The last two are refused when rendered.
  }

  void begin() override {
    picture_.reset();
    slice_.reset();
  }

  VAStatus render(Ref<Buffer> buffer) override {
    const auto bytes = buffer->used();
    switch (buffer->type) {
      case VAEncSequenceParameterBufferType:
        sequence_ = structure<VAEncSequenceParameterBufferH264>(bytes);
        return sequence_ ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
      case VAEncPictureParameterBufferType:
        picture_ = structure<VAEncPictureParameterBufferH264>(bytes);
        return picture_ ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
      case VAEncSliceParameterBufferType:
        if (buffer->element_bytes < sizeof(VAEncSliceParameterBufferH264)) return VA_STATUS_ERROR_INVALID_BUFFER;
        if (!slice_) slice_ = structure<VAEncSliceParameterBufferH264>(bytes);  // All slices have one quantiser.
        return VA_STATUS_SUCCESS;
      case VAEncMiscParameterBufferType:
        return read_misc(bytes);
      default:
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
  }

  VAStatus end(Surface& source) override {
    if (!sequence_ || !picture_ || !slice_) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const Ref<Buffer> coded = acquire<Buffer>(*source.display(), picture_->coded_buf);
    if (!coded || coded->type != VAEncCodedBufferType) return VA_STATUS_ERROR_INVALID_BUFFER;
    const VAStatus status = encode(source, *coded);
    source.error = VA_STATUS_SUCCESS;
    begin();
    return status;
  }

 private:
  VAStatus read_misc(std::span<const std::uint8_t> bytes) {
    const auto type = structure<std::uint32_t>(bytes);
    if (!type) return VA_STATUS_ERROR_INVALID_BUFFER;
    const auto data = bytes.subspan(offsetof(VAEncMiscParameterBuffer, data));
    const auto read = [&](auto& to) {
      to = structure<typename std::remove_reference_t<decltype(to)>::value_type>(data);
      return to ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
    };
    switch (*type) {
      case VAEncMiscParameterTypeRateControl:
        return read(rate_);
      case VAEncMiscParameterTypeFrameRate:
        return read(frame_rate_);
      case VAEncMiscParameterTypeHRD:
        return read(hrd_);
      case VAEncMiscParameterTypeQualityLevel:
        return read(quality_);
      default:
        return VA_STATUS_SUCCESS;  // Hints for features that this encoder lacks.
    }
  }

  /// Part of the surface that decoders will show. @source ITU-T H.264, 7.4.2.1.1
  struct Window {
    int left, top, width, height;
  };
  std::optional<Window> window(const Surface& source) const {
    constexpr std::uint32_t kMax = 16384;
    const auto& sequence = *sequence_;
    Window window{0, 0, sequence.picture_width_in_mbs * 16, sequence.picture_height_in_mbs * 16};
    if (sequence.frame_cropping_flag) {
      const std::uint32_t left = 2 * std::min(sequence.frame_crop_left_offset, kMax);
      const std::uint32_t top = 2 * std::min(sequence.frame_crop_top_offset, kMax);
      window.left = static_cast<int>(left);
      window.top = static_cast<int>(top);
      window.width -= static_cast<int>(left + 2 * std::min(sequence.frame_crop_right_offset, kMax));
      window.height -= static_cast<int>(top + 2 * std::min(sequence.frame_crop_bottom_offset, kMax));
    }
    const bool fits = window.width > 0 && window.height > 0 &&
                      window.left + window.width <= static_cast<int>(source.width_px) &&
                      window.top + window.height <= static_cast<int>(source.height_px);
    return fits ? std::optional(window) : std::nullopt;
  }

  EncoderSettings settings(const Window& window) const {
    EncoderSettings made;
    made.width_px = window.width;
    made.height_px = window.height;
    made.profile = profile_name(profile_);
    made.cabac = picture_->pic_fields.bits.entropy_coding_mode_flag && profile_ != VAProfileH264ConstrainedBaseline;
    made.transform_8x8 = picture_->pic_fields.bits.transform_8x8_mode_flag && profile_ == VAProfileH264High;
    if (quality_) made.quality_level = quality_->quality_level;
    if (rate_control_ & (VA_RC_CBR | VA_RC_VBR)) made.rate = EncoderSettings::Rate::kBits;
    if (rate_control_ == VA_RC_ICQ) made.rate = EncoderSettings::Rate::kQuality;
    made.is_constant_bit_rate = rate_control_ == VA_RC_CBR;
    constexpr std::uint32_t kMax = 1u << 30;
    const auto& sequence = *sequence_;
    if (frame_rate_ && (frame_rate_->framerate & 0xffff)) {
      made.frames = static_cast<int>(frame_rate_->framerate & 0xffff);
      made.seconds = std::max(static_cast<int>(frame_rate_->framerate >> 16), 1);
    } else if (sequence.vui_parameters_present_flag && sequence.vui_fields.bits.timing_info_present_flag &&
               sequence.num_units_in_tick && sequence.time_scale && sequence.time_scale < kMax &&
               sequence.num_units_in_tick < kMax / 2) {
      made.frames = static_cast<int>(sequence.time_scale);  // Ticks are fields.
      made.seconds = static_cast<int>(2 * sequence.num_units_in_tick);
    }
    if (sequence.vui_parameters_present_flag && sequence.vui_fields.bits.aspect_ratio_info_present_flag &&
        sequence.aspect_ratio_idc == 255 && sequence.sar_height && sequence.sar_width <= 0xffff &&
        sequence.sar_height <= 0xffff)
      made.sample_aspect = {static_cast<int>(sequence.sar_width), static_cast<int>(sequence.sar_height)};
    return made;
  }

  PictureSettings picture_settings() const {
    PictureSettings made;
    made.is_idr = picture_->pic_fields.bits.idr_pic_flag;
    made.quality = picture_->pic_init_qp + slice_->slice_qp_delta;
    if (rate_control_ == VA_RC_ICQ) made.quality = rate_ ? rate_->ICQ_quality_factor : 26;
    constexpr std::uint32_t kDefaultBits = 2'000'000;
    const std::uint32_t max = rate_ && rate_->bits_per_second ? rate_->bits_per_second
                              : sequence_->bits_per_second    ? sequence_->bits_per_second
                                                              : kDefaultBits;
    const std::uint32_t percent = rate_ && rate_->target_percentage ? std::min(rate_->target_percentage, 100u) : 100;
    made.max_bit_rate = max;
    made.bit_rate = rate_control_ == VA_RC_CBR ? max : std::max<std::int64_t>(std::int64_t{max} * percent / 100, 1000);
    if (hrd_) made.buffer_bits = static_cast<int>(std::min(hrd_->buffer_size, 1u << 30));
    return made;
  }

  VAStatus encode(const Surface& source, Buffer& coded) {
    const auto shown = window(source);
    if (!shown) return VA_STATUS_ERROR_INVALID_PARAMETER;
    PictureSettings picture = picture_settings();
    const EncoderSettings wanted = settings(*shown);
    const bool same_size =
        encoder_ && encoder_->settings().width_px == shown->width && encoder_->settings().height_px == shown->height;
    // A new sequence begins if the client requests it, or if the old one cannot continue.
    if (!encoder_ || !same_size || (picture.is_idr && wanted != encoder_->settings())) {
      encoder_.reset();
      encoder_.emplace(wanted, picture);
      picture.is_idr = true;
    }
    const SurfaceAccess access(source, Access::kRead);
    Pixels pixels = crop(source.pixels(), shown->left, shown->top, shown->width, shown->height);
    if (pixels.format != AV_PIX_FMT_NV12) {
      const Pixels& plain = canvas_.prepare(AV_PIX_FMT_NV12, shown->width, shown->height);
      if (!convert(plain, pixels)) return VA_STATUS_ERROR_OPERATION_FAILED;
      pixels = plain;
    }
    if (!encoder_->encode(pixels, picture, bytes_)) {
      encoder_.reset();
      return VA_STATUS_ERROR_ENCODING_ERROR;
    }
    coded.store_coded(bytes_, 0);  // Sets the overflow status if the buffer was too small.
    return VA_STATUS_SUCCESS;
  }

  const VAProfile profile_;
  const std::uint32_t rate_control_;
  std::optional<VAEncSequenceParameterBufferH264> sequence_;  ///< Stays valid until it is replaced.
  std::optional<VAEncPictureParameterBufferH264> picture_;
  std::optional<VAEncSliceParameterBufferH264> slice_;
  std::optional<VAEncMiscParameterRateControl> rate_;
  std::optional<VAEncMiscParameterFrameRate> frame_rate_;
  std::optional<VAEncMiscParameterHRD> hrd_;
  std::optional<VAEncMiscParameterBufferQualityLevel> quality_;
  std::optional<Encoder> encoder_;
  Canvas canvas_;
  Bytes bytes_;
};

}  // namespace

bool encodes(VAProfile profile) {
  static const bool exists = avcodec_find_encoder_by_name(kH264Encoder) != nullptr;
  return exists &&
         (profile == VAProfileH264ConstrainedBaseline || profile == VAProfileH264Main || profile == VAProfileH264High);
}

std::vector<VAConfigAttrib> encode_attributes() {
  return {{VAConfigAttribRateControl, kRateControls},
          {VAConfigAttribEncPackedHeaders, VA_ENC_PACKED_HEADER_NONE},
          {VAConfigAttribEncInterlaced, VA_ENC_INTERLACED_NONE},
          {VAConfigAttribEncMaxRefFrames, 1},  // Forwards; none backwards.
          {VAConfigAttribEncMaxSlices, 1},
          {VAConfigAttribEncQualityRange, kQualityLevels},
          {VAConfigAttribEncIntraRefresh, VA_ENC_INTRA_REFRESH_NONE}};
}

std::unique_ptr<Task> make_encode_task(const Config& config) {
  const std::uint32_t chosen = config.attribute(VAConfigAttribRateControl);
  // Several bits if the client chose none.
  return std::make_unique<EncodeTask>(config.profile, chosen == kRateControls ? VA_RC_CQP : chosen);
}

}  // namespace tenon::va
