// SPDX-License-Identifier: Apache-2.0
// Translates a client's parameters into settings of libx264 and libx265. These write the stream's headers, so this is a
// driver without packed headers in VA-API's terms. Every picture refers to the previous one, so there are no B
// pictures.
#include <tenon/drivers/vaapi/codec/encode_task.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <tenon/drivers/vaapi/codec/encode_parameters.hpp>
#include <tenon/drivers/vaapi/codec/encoder.hpp>
#include <tenon/drivers/vaapi/codec/picture.hpp>
#include <tenon/drivers/vaapi/objects/canvas.hpp>
#include <tenon/drivers/vaapi/objects/convert.hpp>

namespace tenon::va {
namespace {

constexpr std::uint32_t kRateControls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_ICQ;

class EncodeTask final : public Task {
 public:
  EncodeTask(std::unique_ptr<EncodeParameters> parameters, std::uint32_t rate_control)
      : parameters_(std::move(parameters)), rate_control_(rate_control) {}

  bool takes(VABufferType type) const override {
    return type == VAEncCodedBufferType || type == VAEncSequenceParameterBufferType ||
           type == VAEncPictureParameterBufferType || type == VAEncSliceParameterBufferType ||
           type == VAEncMiscParameterBufferType || type == VAEncPackedHeaderParameterBufferType ||
           type == VAEncPackedHeaderDataBufferType;  // The last two are refused when rendered.
  }

  void begin() override { parameters_->begin(); }

  VAStatus render(Ref<Buffer> buffer) override {
    const auto bytes = buffer->used();
    switch (buffer->type) {
      case VAEncSequenceParameterBufferType:
      case VAEncPictureParameterBufferType:
      case VAEncSliceParameterBufferType:
        return parameters_->read(buffer->type, bytes, buffer->element_bytes);
      case VAEncMiscParameterBufferType:
        return read_misc(bytes);
      default:
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
  }

  VAStatus end(Surface& source) override {
    if (!parameters_->is_complete()) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const Ref<Buffer> coded = acquire<Buffer>(*source.display(), parameters_->coded());
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

  /// Nothing if it is empty, or larger than the surface.
  std::optional<Window> window(const Surface& source) const {
    const int width_px = static_cast<int>(source.width_px), height_px = static_cast<int>(source.height_px);
    const Window window = parameters_->window(width_px, height_px);
    const bool fits = window.width > 0 && window.height > 0 && window.left + window.width <= width_px &&
                      window.top + window.height <= height_px;
    return fits ? std::optional(window) : std::nullopt;
  }

  EncoderSettings settings(const Window& window) const {
    EncoderSettings made;
    made.width_px = window.width;
    made.height_px = window.height;
    parameters_->fill(made);
    if (quality_) made.quality_level = quality_->quality_level;
    if (rate_control_ & (VA_RC_CBR | VA_RC_VBR)) made.rate = EncoderSettings::Rate::kBits;
    if (rate_control_ == VA_RC_ICQ) made.rate = EncoderSettings::Rate::kQuality;
    made.is_constant_bit_rate = rate_control_ == VA_RC_CBR;
    if (frame_rate_ && (frame_rate_->framerate & 0xffff)) {
      made.frames = static_cast<int>(frame_rate_->framerate & 0xffff);
      made.seconds = std::max(static_cast<int>(frame_rate_->framerate >> 16), 1);
    }
    return made;
  }

  PictureSettings picture_settings() const {
    PictureSettings made;
    made.is_idr = parameters_->is_idr();
    made.quality = parameters_->quantiser();
    if (rate_control_ == VA_RC_ICQ) made.quality = rate_ ? rate_->ICQ_quality_factor : 26;
    constexpr std::uint32_t kDefaultBits = 2'000'000;
    const std::uint32_t of_sequence = parameters_->bits_per_second();
    const std::uint32_t max = rate_ && rate_->bits_per_second ? rate_->bits_per_second
                              : of_sequence                   ? of_sequence
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
    if (!encoder_ || !same_size || (picture.is_idr && !encoder_->continues(wanted, picture))) {
      encoder_.reset();
      encoder_.emplace(wanted, picture);
      picture.is_idr = true;
    }
    const SurfaceAccess access(source, Access::kRead);
    Pixels pixels = crop(source.pixels(), shown->left, shown->top, shown->width, shown->height);
    if (pixels.format != wanted.pixels) {
      const Pixels& plain = canvas_.prepare(wanted.pixels, shown->width, shown->height);
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

  const std::unique_ptr<EncodeParameters> parameters_;
  const std::uint32_t rate_control_;
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
  switch (profile) {
    case VAProfileH264ConstrainedBaseline:
    case VAProfileH264Main:
    case VAProfileH264High:
      return Encoder::exists(EncoderSettings::Codec::kH264, AV_PIX_FMT_NV12);
    case VAProfileHEVCMain:
      return Encoder::exists(EncoderSettings::Codec::kHevc, AV_PIX_FMT_YUV420P);
    case VAProfileHEVCMain10:
      return Encoder::exists(EncoderSettings::Codec::kHevc, AV_PIX_FMT_YUV420P10);
    default:
      return false;
  }
}

std::uint32_t encode_rt_formats(VAProfile profile) {
  if (!encodes(profile)) return 0;
  return profile == VAProfileHEVCMain10 ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420;
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
  return std::make_unique<EncodeTask>(make_encode_parameters(config.profile),
                                      chosen == kRateControls ? VA_RC_CQP : chosen);
}

}  // namespace tenon::va
