// SPDX-License-Identifier: Apache-2.0
// H.264: parameter sets from VAPictureParameterBufferH264. The values that VA-API does not carry (the number of a PPS,
// its default numbers of references) are read from the slice headers, which are complete.
#include <algorithm>
#include <array>

#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace tenon::va {
namespace h264 {
namespace {

constexpr std::uint8_t kSps = 0x67, kPps = 0x68;
constexpr int kProfileHigh = 100, kProfileHigh10 = 110, kProfileHigh422 = 122, kProfileHigh444 = 244;
constexpr int kLevel = 62;  // The highest level, because sizes are limited by VA-API's values.

/// Values of the PPS that slice headers reveal.
struct FromSlices {
  std::uint32_t pps_id = 0;
  bool has_l0 = false, has_l1 = false;  ///< A slice used the default number of references.
  std::uint32_t l0 = 0, l1 = 0;
};

/// The NAL unit, without the start code that some clients leave in front.
std::span<const std::uint8_t> unit_of(const Slice& slice, const VASliceParameterBufferH264& parameters) {
  std::span<const std::uint8_t> unit = part(slice.data, parameters.slice_data_offset, parameters.slice_data_size);
  std::size_t zeros = 0;
  while (zeros < unit.size() && unit[zeros] == 0) ++zeros;
  return zeros >= 2 && zeros < unit.size() && unit[zeros] == 1 ? unit.subspan(zeros + 1) : unit;
}

/// Reads a slice header up to the number of references.
/// @source ITU-T H.264, 7.3.3
void read_header(std::span<const std::uint8_t> unit, const VAPictureParameterBufferH264& picture,
                 const VASliceParameterBufferH264& slice, FromSlices& found) {
  constexpr std::uint32_t kP = 0, kB = 1, kSp = 3;
  const Bytes plain = unescape(unit, 64);
  const auto& sequence = picture.seq_fields.bits;
  const auto& fields = picture.pic_fields.bits;
  BitReader reader(plain);
  const std::uint32_t nal_type = reader.bits(8) & 31;
  reader.ue();  // first_mb_in_slice
  const std::uint32_t type = reader.ue() % 5;
  found.pps_id = std::min(reader.ue(), 255u);
  reader.bits(static_cast<int>(sequence.log2_max_frame_num_minus4) + 4);
  bool is_field = false;
  if (!sequence.frame_mbs_only_flag) {
    is_field = reader.bit();
    if (is_field) reader.bit();
  }
  if (nal_type == 5) reader.ue();  // idr_pic_id
  if (sequence.pic_order_cnt_type == 0) {
    reader.bits(static_cast<int>(sequence.log2_max_pic_order_cnt_lsb_minus4) + 4);
    if (fields.pic_order_present_flag && !is_field) reader.se();
  } else if (sequence.pic_order_cnt_type == 1 && !sequence.delta_pic_order_always_zero_flag) {
    reader.se();
    if (fields.pic_order_present_flag && !is_field) reader.se();
  }
  if (fields.redundant_pic_cnt_present_flag) reader.ue();
  if (type == kB) reader.bit();  // direct_spatial_mv_pred_flag
  if (type != kP && type != kB && type != kSp) return;
  if (reader.bit()) return;  // This slice overrides the default.
  found.has_l0 = true;
  found.l0 = slice.num_ref_idx_l0_active_minus1;
  if (type != kB) return;
  found.has_l1 = true;
  found.l1 = slice.num_ref_idx_l1_active_minus1;
}

/// Writes a scaling list as delta values. @source 7.3.2.1.1.1
template <std::size_t kCount>
void write_list(BitWriter& writer, const std::uint8_t (&raster)[kCount]) {
  writer.bit(true);  // scaling_list_present_flag
  int last = 8;
  for (const std::uint8_t at : zigzag(kCount == 16 ? 4 : 8)) {
    const int value = raster[at];
    writer.se(static_cast<std::int8_t>(value - last));
    last = value;
  }
}

template <std::size_t kCount>
bool is_valid(const std::uint8_t (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), 0) == std::end(list);
}

bool is_flat(const VAIQMatrixBufferH264& matrix) {
  const auto flat = [](std::uint8_t value) { return value == 16; };
  return std::all_of(&matrix.ScalingList4x4[0][0], &matrix.ScalingList4x4[0][0] + 96, flat) &&
         std::all_of(&matrix.ScalingList8x8[0][0], &matrix.ScalingList8x8[0][0] + 128, flat);
}

class H264Writer final : public StreamWriter {
 public:
  std::size_t picture_bytes() const override { return sizeof(VAPictureParameterBufferH264); }
  std::size_t slice_bytes() const override { return sizeof(VASliceParameterBufferH264); }

  std::int64_t pixels(const Picture& given) const override {
    const auto picture = structure<VAPictureParameterBufferH264>(given.parameters);
    return picture ? (std::int64_t{picture->picture_width_in_mbs_minus1} + 1) *
                         (std::int64_t{picture->picture_height_in_mbs_minus1} + 1) * 256
                   : 0;
  }

  VAStatus write(const Picture& given, Bytes& stream) override {
    const auto picture = structure<VAPictureParameterBufferH264>(given.parameters);
    units_.clear();
    if (!picture || given.slices.empty()) return VA_STATUS_ERROR_INVALID_PARAMETER;
    // The offsets of type 1 are in the SPS only, and VA-API does not carry them.
    if (picture->seq_fields.bits.pic_order_cnt_type == 1) return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (picture->num_ref_frames > 16 || picture->bit_depth_luma_minus8 > 6 || picture->bit_depth_chroma_minus8 > 6)
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    for (const Slice& slice : given.slices) {
      const auto parameters = structure<VASliceParameterBufferH264>(slice.parameters);
      if (!parameters) return VA_STATUS_ERROR_INVALID_PARAMETER;
      const auto unit = unit_of(slice, *parameters);
      if (unit.empty()) return VA_STATUS_ERROR_INVALID_PARAMETER;
      FromSlices found = defaults_;
      read_header(unit, *picture, *parameters, found);
      if (found.has_l0) defaults_.l0 = found.l0;
      if (found.has_l1) defaults_.l1 = found.l1;
      defaults_.pps_id = found.pps_id;
      units_.push_back(unit);
    }
    is_interlaced_ = !picture->seq_fields.bits.frame_mbs_only_flag;
    if (append(stream, kSps, sequence_set(*picture), last_sps_)) last_pps_.clear();  // A new SPS invalidates its PPS.
    append(stream, kPps, picture_set(*picture, structure<VAIQMatrixBufferH264>(given.iq_matrix)), last_pps_);
    for (const auto unit : units_) {
      append_start_code(stream);
      stream.insert(stream.end(), unit.begin(), unit.end());
    }
    return VA_STATUS_SUCCESS;
  }

  void repeat_sequence() noexcept override {
    last_sps_.clear();
    last_pps_.clear();
  }

  /// Filler packets must not come between two fields, and the second field may be late.
  bool may_run_ahead() const override { return !is_interlaced_; }

 private:
  /// Repeats a parameter set only when it changes: a new one makes the decoder look for a new sequence.
  static bool append(Bytes& stream, std::uint8_t header, const BitWriter& set, Bytes& last) {
    if (set.bytes() == last) return false;
    last = set.bytes();
    append_start_code(stream);
    stream.push_back(header);
    append_escaped(stream, last);
    return true;
  }

  /// @source 7.3.2.1.1
  static BitWriter sequence_set(const VAPictureParameterBufferH264& picture) {
    const auto& sequence = picture.seq_fields.bits;
    BitWriter writer;
    const int profile = sequence.chroma_format_idc == 3   ? kProfileHigh444
                        : sequence.chroma_format_idc == 2 ? kProfileHigh422
                        : picture.bit_depth_luma_minus8   ? kProfileHigh10
                                                          : kProfileHigh;
    writer.bits(8, static_cast<std::uint32_t>(profile));
    writer.bits(8, 0);
    writer.bits(8, kLevel);
    writer.ue(0);  // seq_parameter_set_id
    writer.ue(sequence.chroma_format_idc);
    if (sequence.chroma_format_idc == 3) writer.bit(sequence.residual_colour_transform_flag);
    writer.ue(picture.bit_depth_luma_minus8);
    writer.ue(picture.bit_depth_chroma_minus8);
    writer.bit(false);  // qpprime_y_zero_transform_bypass_flag
    writer.bit(false);  // seq_scaling_matrix_present_flag: lists are in the PPS.
    writer.ue(sequence.log2_max_frame_num_minus4);
    writer.ue(sequence.pic_order_cnt_type);
    if (sequence.pic_order_cnt_type == 0) writer.ue(sequence.log2_max_pic_order_cnt_lsb_minus4);
    writer.ue(picture.num_ref_frames);
    writer.bit(sequence.gaps_in_frame_num_value_allowed_flag);
    writer.ue(picture.picture_width_in_mbs_minus1);
    const std::uint32_t rows = picture.picture_height_in_mbs_minus1 + 1u;
    writer.ue(sequence.frame_mbs_only_flag ? rows - 1 : (rows + 1) / 2 - 1);
    writer.bit(sequence.frame_mbs_only_flag);
    if (!sequence.frame_mbs_only_flag) writer.bit(sequence.mb_adaptive_frame_field_flag);
    writer.bit(sequence.direct_8x8_inference_flag);
    writer.bit(false);  // frame_cropping_flag
    writer.bit(false);  // vui_parameters_present_flag
    writer.stop();
    return writer;
  }

  /// @source 7.3.2.2
  BitWriter picture_set(const VAPictureParameterBufferH264& picture,
                        const std::optional<VAIQMatrixBufferH264>& matrix) const {
    const auto& fields = picture.pic_fields.bits;
    BitWriter writer;
    writer.ue(defaults_.pps_id);
    writer.ue(0);  // seq_parameter_set_id
    writer.bit(fields.entropy_coding_mode_flag);
    writer.bit(fields.pic_order_present_flag);
    writer.ue(0);  // num_slice_groups_minus1
    writer.ue(defaults_.l0);
    writer.ue(defaults_.l1);
    writer.bit(fields.weighted_pred_flag);
    writer.bits(2, fields.weighted_bipred_idc);
    writer.se(picture.pic_init_qp_minus26);
    writer.se(picture.pic_init_qs_minus26);
    writer.se(picture.chroma_qp_index_offset);
    writer.bit(fields.deblocking_filter_control_present_flag);
    writer.bit(fields.constrained_intra_pred_flag);
    writer.bit(fields.redundant_pic_cnt_present_flag);
    writer.bit(fields.transform_8x8_mode_flag);
    write_matrix(writer, matrix, fields.transform_8x8_mode_flag, picture.seq_fields.bits.chroma_format_idc == 3);
    writer.se(picture.second_chroma_qp_index_offset);
    writer.stop();
    return writer;
  }

  static void write_matrix(BitWriter& writer, const std::optional<VAIQMatrixBufferH264>& matrix, bool has_8x8,
                           bool is_444) {
    const bool present = matrix && !is_flat(*matrix) && is_valid(matrix->ScalingList8x8[0]) &&
                         is_valid(matrix->ScalingList8x8[1]) &&
                         std::all_of(std::begin(matrix->ScalingList4x4), std::end(matrix->ScalingList4x4),
                                     [](const auto& list) { return is_valid(list); });
    writer.bit(present);  // pic_scaling_matrix_present_flag
    if (!present) return;
    for (const auto& list : matrix->ScalingList4x4) write_list(writer, list);
    if (!has_8x8) return;
    for (const auto& list : matrix->ScalingList8x8) write_list(writer, list);
    for (int chroma = 0; chroma < (is_444 ? 4 : 0); ++chroma) writer.bit(false);  // Same as the luma lists.
  }

  FromSlices defaults_;
  bool is_interlaced_ = false;
  Bytes last_sps_, last_pps_;
  std::vector<std::span<const std::uint8_t>> units_;
};

}  // namespace
}  // namespace h264

std::unique_ptr<StreamWriter> make_h264_writer() { return std::make_unique<h264::H264Writer>(); }

}  // namespace tenon::va
