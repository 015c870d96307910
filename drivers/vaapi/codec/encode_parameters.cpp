// SPDX-License-Identifier: Apache-2.0
// H.264 and HEVC.
#include <tenon/drivers/vaapi/codec/encode_parameters.hpp>

#include <algorithm>
#include <optional>

#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace tenon::va {
namespace {

template <class Sequence, class Picture, class Slice>
class ParametersOf : public EncodeParameters {
 public:
  void begin() override {
    picture_.reset();
    slice_.reset();
  }

  VAStatus read(VABufferType type, std::span<const std::uint8_t> bytes, std::size_t element_bytes) override {
    const auto read = [&](auto& to) {
      to = structure<typename std::remove_reference_t<decltype(to)>::value_type>(bytes);
      return to ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
    };
    if (type == VAEncSequenceParameterBufferType) return read(sequence_);
    if (type == VAEncPictureParameterBufferType) return read(picture_);
    if (element_bytes < sizeof(Slice)) return VA_STATUS_ERROR_INVALID_BUFFER;
    return slice_ ? VA_STATUS_SUCCESS : read(slice_);
  }

  bool is_complete() const override { return sequence_ && picture_ && slice_; }
  VABufferID coded() const override { return picture_->coded_buf; }
  bool is_idr() const override { return picture_->pic_fields.bits.idr_pic_flag; }
  int quantiser() const override { return picture_->pic_init_qp + slice_->slice_qp_delta; }
  std::uint32_t bits_per_second() const override { return sequence_->bits_per_second; }

 protected:
  /// Pictures per second, from a time scale and the units of it that a picture takes.
  static void set_rate(EncoderSettings& settings, std::uint32_t scale, std::uint32_t units) {
    constexpr std::uint32_t kMax = 1u << 30;
    if (scale == 0 || units == 0 || scale >= kMax || units >= kMax) return;
    settings.frames = static_cast<int>(scale);
    settings.seconds = static_cast<int>(units);
  }
  static void set_aspect(EncoderSettings& settings, const Sequence& sequence) {
    constexpr int kExplicit = 255;  // Extended_SAR
    if (sequence.vui_fields.bits.aspect_ratio_info_present_flag && sequence.aspect_ratio_idc == kExplicit &&
        sequence.sar_height && sequence.sar_width <= 0xffff && sequence.sar_height <= 0xffff)
      settings.sample_aspect = {static_cast<int>(sequence.sar_width), static_cast<int>(sequence.sar_height)};
  }

  std::optional<Sequence> sequence_;  ///< Stays valid until it is replaced.
  std::optional<Picture> picture_;
  std::optional<Slice> slice_;
};

class H264Parameters final : public ParametersOf<VAEncSequenceParameterBufferH264, VAEncPictureParameterBufferH264,
                                                 VAEncSliceParameterBufferH264> {
 public:
  explicit H264Parameters(VAProfile profile) : profile_(profile) {}

  /// @source ITU-T H.264, 7.4.2.1.1
  Window window(int, int) const override {
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
    return window;
  }

  void fill(EncoderSettings& settings) const override {
    const auto& fields = picture_->pic_fields.bits;
    settings.profile = profile_ == VAProfileH264High ? "high" : profile_ == VAProfileH264Main ? "main" : "baseline";
    settings.cabac = fields.entropy_coding_mode_flag && profile_ != VAProfileH264ConstrainedBaseline;
    settings.transform_8x8 = fields.transform_8x8_mode_flag && profile_ == VAProfileH264High;
    if (!sequence_->vui_parameters_present_flag) return;
    constexpr std::uint32_t kMax = 1u << 29;
    if (sequence_->vui_fields.bits.timing_info_present_flag && sequence_->num_units_in_tick < kMax)
      set_rate(settings, sequence_->time_scale, 2 * sequence_->num_units_in_tick);  // Ticks are fields.
    set_aspect(settings, *sequence_);
  }

 private:
  const VAProfile profile_;
};

class HevcParameters final : public ParametersOf<VAEncSequenceParameterBufferHEVC, VAEncPictureParameterBufferHEVC,
                                                 VAEncSliceParameterBufferHEVC> {
 public:
  explicit HevcParameters(VAProfile profile) : profile_(profile) {}

  /// VA-API has the conformance window in packed headers alone, which this driver does not take: a sequence whose extents are rounded up to
  /// whole coding blocks shows its surface.
  Window window(int width_px, int height_px) const override {
    constexpr int kLargestBlock = 64;
    const auto shown = [](int coded, int surface) {
      return coded - surface < kLargestBlock ? std::min(coded, surface) : coded;
    };
    return {0, 0, shown(sequence_->pic_width_in_luma_samples, width_px),
            shown(sequence_->pic_height_in_luma_samples, height_px)};
  }

  void fill(EncoderSettings& settings) const override {
    settings.codec = EncoderSettings::Codec::kHevc;
    settings.profile = profile_ == VAProfileHEVCMain10 ? "main10" : "main";
    settings.pixels = profile_ == VAProfileHEVCMain10 ? AV_PIX_FMT_YUV420P10 : AV_PIX_FMT_YUV420P;
    if (!sequence_->vui_parameters_present_flag) return;
    if (sequence_->vui_fields.bits.vui_timing_info_present_flag)
      set_rate(settings, sequence_->vui_time_scale, sequence_->vui_num_units_in_tick);
    set_aspect(settings, *sequence_);
  }

 private:
  const VAProfile profile_;
};

}  // namespace

std::unique_ptr<EncodeParameters> make_encode_parameters(VAProfile profile) {
  switch (profile) {
    case VAProfileH264ConstrainedBaseline:
    case VAProfileH264Main:
    case VAProfileH264High:
      return std::make_unique<H264Parameters>(profile);
    case VAProfileHEVCMain:
    case VAProfileHEVCMain10:
      return std::make_unique<HevcParameters>(profile);
    default:
      return nullptr;
  }
}

}  // namespace tenon::va
