// SPDX-License-Identifier: Apache-2.0
// Collects what a client submits for a picture, rebuilds the stream, decodes, and writes the surface.
#include <tenon/drivers/vaapi/codec/decode_task.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <tenon/drivers/vaapi/codec/decoder.hpp>
#include <tenon/drivers/vaapi/codec/picture.hpp>
#include <tenon/drivers/vaapi/objects/convert.hpp>

namespace tenon::va {
namespace {

constexpr int kMaxSlices = 4096;

constexpr std::uint32_t k420 = VA_RT_FORMAT_YUV420, k420_10 = VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10;
constexpr std::uint32_t kJpeg =
    VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_YUV444 | VA_RT_FORMAT_YUV400 | VA_RT_FORMAT_RGB32;

constexpr DecodeProfile kProfiles[] = {
    {VAProfileH264ConstrainedBaseline, "h264", k420, 8192},
    {VAProfileH264Main, "h264", k420, 8192},
    {VAProfileH264High, "h264", k420, 8192},
    {VAProfileHEVCMain, "hevc", k420, 8192},
    {VAProfileHEVCMain10, "hevc", k420_10, 8192},
    {VAProfileVP9Profile0, "vp9", k420, 8192},
    {VAProfileVP9Profile2, "vp9", k420_10, 8192},
    {VAProfileAV1Profile0, "libdav1d", k420_10, 8192},
    {VAProfileJPEGBaseline, "mjpeg", kJpeg, 16384},
};

std::unique_ptr<StreamWriter> make_writer(VAProfile profile) {
  switch (profile) {
    case VAProfileH264ConstrainedBaseline:
    case VAProfileH264Main:
    case VAProfileH264High:
      return make_h264_writer();
    case VAProfileHEVCMain:
    case VAProfileHEVCMain10:
      return make_hevc_writer();
    case VAProfileVP9Profile0:
    case VAProfileVP9Profile2:
      return make_vp9_writer();
    case VAProfileAV1Profile0:
      return make_av1_writer();
    case VAProfileJPEGBaseline:
      return make_jpeg_writer();
    default:
      return nullptr;
  }
}

Pixels pixels_of(const AVFrame& frame) {
  Pixels pixels{static_cast<AVPixelFormat>(frame.format), frame.width, frame.height, {}, {}};
  for (std::size_t plane = 0; plane < 4; ++plane) {
    pixels.data[plane] = frame.data[plane];
    pixels.pitch[plane] = frame.linesize[plane];
  }
  return pixels;
}

class DecodeTask final : public Task {
 public:
  explicit DecodeTask(const DecodeProfile& profile)
      : decoder_(profile.decoder), writer_(make_writer(profile.profile)) {}

  bool takes(VABufferType type) const override {
    return type == VAPictureParameterBufferType || type == VAIQMatrixBufferType || type == VASliceParameterBufferType ||
           type == VASliceDataBufferType || type == VAHuffmanTableBufferType || type == VAImageBufferType ||
           type == VAQMatrixBufferType;
  }

  void begin() override {
    picture_ = {};
    data_.clear();
    groups_.clear();
  }

  VAStatus render(Ref<Buffer> buffer) override {
    const auto bytes = buffer->used();
    switch (buffer->type) {
      case VAPictureParameterBufferType:
        if (bytes.size() < writer_->picture_bytes()) return VA_STATUS_ERROR_INVALID_BUFFER;
        picture_.parameters.assign(bytes.begin(), bytes.end());
        return VA_STATUS_SUCCESS;
      case VAIQMatrixBufferType:
        picture_.iq_matrix.assign(bytes.begin(), bytes.end());
        return VA_STATUS_SUCCESS;
      case VAHuffmanTableBufferType:
        picture_.huffman.assign(bytes.begin(), bytes.end());
        return VA_STATUS_SUCCESS;
      case VASliceParameterBufferType:
        return add_slices(bytes, buffer->element_bytes);
      case VASliceDataBufferType:
        data_.push_back(std::move(buffer));
        return VA_STATUS_SUCCESS;
      default:
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
  }

  VAStatus end(Surface& target) override {
    const VAStatus status = decode(target);
    target.error = status == VA_STATUS_ERROR_DECODING_ERROR ? status : VA_STATUS_SUCCESS;
    begin();
    // A picture that cannot be decoded is told by vaSyncSurface; the call itself was right.
    return status == VA_STATUS_ERROR_DECODING_ERROR ? VA_STATUS_SUCCESS : status;
  }

 private:
  VAStatus add_slices(std::span<const std::uint8_t> bytes, std::size_t element_bytes) {
    if (element_bytes < writer_->slice_bytes()) return VA_STATUS_ERROR_INVALID_BUFFER;
    const std::size_t count = bytes.size() / element_bytes;
    if (picture_.slices.size() + count > kMaxSlices) return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = bytes.subspan(i * element_bytes, element_bytes);
      picture_.slices.push_back({Bytes(one.begin(), one.end()), {}});
    }
    groups_.push_back(count);
    return VA_STATUS_SUCCESS;
  }

  /// One buffer of data for each buffer of parameters, in their order, or one for all.
  VAStatus join_slices() {
    if (data_.empty() || (data_.size() != groups_.size() && data_.size() != 1))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    std::size_t slice = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      Buffer& data = *data_[data_.size() == 1 ? 0 : group];
      for (std::size_t i = 0; i < groups_[group]; ++i) picture_.slices[slice++].data = data.used();
    }
    return VA_STATUS_SUCCESS;
  }

  VAStatus decode(Surface& target) {
    if (picture_.parameters.empty() || picture_.slices.empty()) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (const VAStatus status = join_slices()) return status;
    stream_.clear();
    if (const VAStatus status = writer_->write(picture_, stream_)) return status;
    const AVFrame* frame = decoder_.decode(stream_);
    if (!frame) return VA_STATUS_ERROR_DECODING_ERROR;
    if (const Ref<Surface> shown = acquire<Surface>(*target.display(), writer_->shown_surface())) {
      shown->error = shown->read_only() ? VA_STATUS_ERROR_DECODING_ERROR : store(*shown, *frame);
    }
    return store(target, *frame);
  }

  static VAStatus store(Surface& target, const AVFrame& frame) {
    const SurfaceAccess access(target, Access::kWrite);
    const Pixels from = pixels_of(frame), to = target.pixels();
    const int width = std::min(from.width_px, to.width_px), height = std::min(from.height_px, to.height_px);
    return convert(crop(to, 0, 0, width, height), crop(from, 0, 0, width, height)) ? VA_STATUS_SUCCESS
                                                                                   : VA_STATUS_ERROR_DECODING_ERROR;
  }

  Decoder decoder_;
  std::unique_ptr<StreamWriter> writer_;
  Picture picture_;
  std::vector<Ref<Buffer>> data_;
  std::vector<std::size_t> groups_;  ///< Number of slices in each buffer of slice parameters.
  Bytes stream_;
};

}  // namespace

std::span<const DecodeProfile> decode_profiles() {
  static const auto& here = *new std::vector<DecodeProfile>([] {
    std::vector<DecodeProfile> found;
    for (const DecodeProfile& profile : kProfiles)
      if (Decoder::exists(profile.decoder)) found.push_back(profile);
    return found;
  }());
  return here;
}

const DecodeProfile* find_decode_profile(VAProfile profile) {
  const auto all = decode_profiles();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.profile == profile; });
  return found == all.end() ? nullptr : &*found;
}

std::unique_ptr<Task> make_decode_task(const DecodeProfile& profile) { return std::make_unique<DecodeTask>(profile); }

}  // namespace tenon::va
