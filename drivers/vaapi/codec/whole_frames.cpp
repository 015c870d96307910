// SPDX-License-Identifier: Apache-2.0
// VP9, whose clients submit whole frames, and JPEG, whose segments are written anew.
#include <algorithm>

#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace tenon::va {
namespace {

class Vp9Writer final : public StreamWriter {
 public:
  std::size_t picture_bytes() const override { return sizeof(VADecPictureParameterBufferVP9); }
  std::size_t slice_bytes() const override { return sizeof(VASliceParameterBufferVP9); }
  VAStatus write(const Picture& given, Bytes& stream) override {
    const auto parameters = structure<VASliceParameterBufferVP9>(given.slices.at(0).parameters);
    if (given.slices.size() != 1 || !parameters) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto frame = part(given.slices[0].data, parameters->slice_data_offset, parameters->slice_data_size);
    stream.insert(stream.end(), frame.begin(), frame.end());
    const auto picture = structure<VADecPictureParameterBufferVP9>(given.parameters);
    had_key_ |= picture && picture->pic_fields.bits.frame_type == 0;
    return frame.empty() ? VA_STATUS_ERROR_INVALID_PARAMETER : VA_STATUS_SUCCESS;
  }
  std::vector<VASurfaceID> references(const Picture& given) const override {
    const auto picture = structure<VADecPictureParameterBufferVP9>(given.parameters);
    if (!picture || picture->pic_fields.bits.frame_type == 0) return {};
    return {std::begin(picture->reference_frames), std::end(picture->reference_frames)};
  }
  /// The filler packet shows the first reference, which exists after every key frame.
  bool may_run_ahead() const override { return had_key_; }

 private:
  bool had_key_ = false;
};

/// @source ITU-T T.81, annex B
class JpegWriter final : public StreamWriter {
 public:
  std::size_t picture_bytes() const override { return sizeof(VAPictureParameterBufferJPEGBaseline); }
  std::size_t slice_bytes() const override { return sizeof(VASliceParameterBufferJPEGBaseline); }

  VAStatus write(const Picture& given, Bytes& stream) override {
    const auto picture = structure<VAPictureParameterBufferJPEGBaseline>(given.parameters);
    const auto scan = structure<VASliceParameterBufferJPEGBaseline>(given.slices.at(0).parameters);
    if (!picture || !scan || given.slices.size() != 1) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto data = part(given.slices[0].data, scan->slice_data_offset, scan->slice_data_size);
    if (data.empty() || picture->num_components < 1 || picture->num_components > 4 || scan->num_components < 1 ||
        scan->num_components > 4 || picture->rotation != VA_ROTATION_NONE)
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    // Tables stay until they are replaced.
    if (const auto tables = structure<VAIQMatrixBufferJPEGBaseline>(given.iq_matrix)) quantisers_ = *tables;
    if (const auto tables = structure<VAHuffmanTableBufferJPEGBaseline>(given.huffman)) huffman_ = *tables;
    marker(stream, 0xd8);
    write_quantisers(stream);
    write_frame(stream, *picture);
    if (!write_huffman(stream)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (scan->restart_interval) {
      segment(stream, 0xdd, 2);
      word(stream, scan->restart_interval);
    }
    write_scan(stream, *scan);
    stream.insert(stream.end(), data.begin(), data.end());
    marker(stream, 0xd9);
    return VA_STATUS_SUCCESS;
  }

 private:
  static void word(Bytes& to, std::size_t value) {
    to.push_back(static_cast<std::uint8_t>(value >> 8));
    to.push_back(static_cast<std::uint8_t>(value));
  }
  static void marker(Bytes& to, std::uint8_t code) {
    to.push_back(0xff);
    to.push_back(code);
  }
  static void segment(Bytes& to, std::uint8_t code, std::size_t payload) {
    marker(to, code);
    word(to, payload + 2);
  }

  /// In zigzag order, the same as in VA-API.
  void write_quantisers(Bytes& to) const {
    for (std::size_t i = 0; i < 4; ++i) {
      if (!quantisers_.load_quantiser_table[i]) continue;
      segment(to, 0xdb, 65);
      to.push_back(static_cast<std::uint8_t>(i));
      to.insert(to.end(), std::begin(quantisers_.quantiser_table[i]), std::end(quantisers_.quantiser_table[i]));
    }
  }

  static void write_frame(Bytes& to, const VAPictureParameterBufferJPEGBaseline& picture) {
    segment(to, 0xc0, 6 + 3u * picture.num_components);
    to.push_back(8);  // Bits per sample.
    word(to, picture.picture_height);
    word(to, picture.picture_width);
    to.push_back(picture.num_components);
    for (std::size_t i = 0; i < picture.num_components; ++i) {
      const auto& one = picture.components[i];
      to.push_back(one.component_id);
      to.push_back(static_cast<std::uint8_t>(one.h_sampling_factor << 4 | (one.v_sampling_factor & 15)));
      to.push_back(one.quantiser_table_selector);
    }
  }

  template <std::size_t kValues>
  static bool write_table(Bytes& to, std::uint8_t id, const std::uint8_t (&counts)[16],
                          const std::uint8_t (&values)[kValues]) {
    std::size_t sum = 0;
    for (const std::uint8_t count : counts) sum += count;
    if (sum > kValues) return false;
    segment(to, 0xc4, 17 + sum);
    to.push_back(id);
    to.insert(to.end(), std::begin(counts), std::end(counts));
    to.insert(to.end(), values, values + sum);
    return true;
  }
  bool write_huffman(Bytes& to) const {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!huffman_.load_huffman_table[i]) continue;
      const auto& table = huffman_.huffman_table[i];
      if (!write_table(to, static_cast<std::uint8_t>(i), table.num_dc_codes, table.dc_values) ||
          !write_table(to, static_cast<std::uint8_t>(16 | i), table.num_ac_codes, table.ac_values))
        return false;
    }
    return true;
  }

  static void write_scan(Bytes& to, const VASliceParameterBufferJPEGBaseline& scan) {
    segment(to, 0xda, 4 + 2u * scan.num_components);
    to.push_back(scan.num_components);
    for (std::size_t i = 0; i < scan.num_components; ++i) {
      to.push_back(scan.components[i].component_selector);
      to.push_back(static_cast<std::uint8_t>(scan.components[i].dc_table_selector << 4 |
                                             (scan.components[i].ac_table_selector & 15)));
    }
    to.insert(to.end(), {0, 63, 0});  // The whole spectrum, no approximation: baseline.
  }

  VAIQMatrixBufferJPEGBaseline quantisers_{};
  VAHuffmanTableBufferJPEGBaseline huffman_{};
};

}  // namespace

std::unique_ptr<StreamWriter> make_vp9_writer() { return std::make_unique<Vp9Writer>(); }
std::unique_ptr<StreamWriter> make_jpeg_writer() { return std::make_unique<JpegWriter>(); }

}  // namespace tenon::va
