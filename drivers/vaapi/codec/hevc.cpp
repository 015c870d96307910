// SPDX-License-Identifier: Apache-2.0
// HEVC: parameter sets from VAPictureParameterBufferHEVC. VA-API does not carry the SPS's sets of reference pictures,
// to which slice headers refer by number. So each slice header is rewritten to contain its set explicitly, taken from
// ReferenceFrames.
#include <algorithm>
#include <bit>
#include <cstddef>

#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace tenon::va {
namespace hevc {
namespace {

using Parameters = VAPictureParameterBufferHEVC;
using Range = VAPictureParameterBufferHEVCRext;

constexpr std::uint8_t kVps = 32, kSps = 33, kPps = 34;
constexpr int kLevel = 186;  // Level 6.2, because sizes are limited by VA-API's values.

/// Number of bits for numbers below `count`.
int bits_for(std::uint32_t count) { return count <= 1 ? 0 : std::bit_width(count - 1); }

/// @source ITU-T H.265, 7.3.3, without sub-layers
void write_profile(BitWriter& writer, const Parameters& picture) {
  const std::uint32_t profile = picture.pic_fields.bits.chroma_format_idc != 1                     ? 4
                                : picture.bit_depth_luma_minus8 || picture.bit_depth_chroma_minus8 ? 2
                                                                                                   : 1;
  writer.bits(3, 0);  // general_profile_space, general_tier_flag
  writer.bits(5, profile);
  writer.bits(32, 0x60000000);  // Compatible with Main and Main 10.
  writer.bits(4, 0b1001);       // progressive, not interlaced, not packed, frames only
  writer.bits(32, 0);
  writer.bits(12, 0);
  writer.bits(8, kLevel);
}

void write_buffering(BitWriter& writer, const Parameters& picture) {
  writer.bit(true);  // sub_layer_ordering_info_present_flag
  writer.ue(picture.sps_max_dec_pic_buffering_minus1);
  writer.ue(picture.pic_fields.bits.NoPicReorderingFlag ? 0 : picture.sps_max_dec_pic_buffering_minus1);
  writer.ue(0);  // max_latency_increase_plus1
}

/// @source 7.3.2.1
BitWriter video_set(const Parameters& picture) {
  BitWriter writer;
  writer.bits(4, 0);
  writer.bits(2, 0b11);     // The base layer is in this stream, and available.
  writer.bits(6, 0);        // vps_max_layers_minus1
  writer.bits(3, 0);        // vps_max_sub_layers_minus1
  writer.bit(true);         // vps_temporal_id_nesting_flag
  writer.bits(16, 0xffff);  // vps_reserved_0xffff_16bits
  write_profile(writer, picture);
  write_buffering(writer, picture);
  writer.bits(6, 0);  // vps_max_layer_id
  writer.ue(0);       // vps_num_layer_sets_minus1
  writer.bit(false);  // vps_timing_info_present_flag
  writer.bit(false);  // vps_extension_flag
  writer.stop();
  return writer;
}

/// Writes the extension flags: none, or the range extension.
void write_extensions(BitWriter& writer, bool has_range) {
  writer.bit(has_range);
  if (has_range) writer.bits(8, 0x80);
}

/// @source 7.3.2.2.2
void write_range(BitWriter& writer, const Range& range) {
  const auto& fields = range.range_extension_pic_fields.bits;
  writer.bit(fields.transform_skip_rotation_enabled_flag);
  writer.bit(fields.transform_skip_context_enabled_flag);
  writer.bit(fields.implicit_rdpcm_enabled_flag);
  writer.bit(fields.explicit_rdpcm_enabled_flag);
  writer.bit(fields.extended_precision_processing_flag);
  writer.bit(fields.intra_smoothing_disabled_flag);
  writer.bit(fields.high_precision_offsets_enabled_flag);
  writer.bit(fields.persistent_rice_adaptation_enabled_flag);
  writer.bit(fields.cabac_bypass_alignment_enabled_flag);
}

/// @source 7.3.2.3.2
void write_range(BitWriter& writer, const Range& range, bool transform_skip) {
  const auto& fields = range.range_extension_pic_fields.bits;
  if (transform_skip) writer.ue(range.log2_max_transform_skip_block_size_minus2);
  writer.bit(fields.cross_component_prediction_enabled_flag);
  writer.bit(fields.chroma_qp_offset_list_enabled_flag);
  if (fields.chroma_qp_offset_list_enabled_flag) {
    writer.ue(range.diff_cu_chroma_qp_offset_depth);
    writer.ue(range.chroma_qp_offset_list_len_minus1);
    for (std::size_t i = 0; i <= range.chroma_qp_offset_list_len_minus1; ++i) {
      writer.se(range.cb_qp_offset_list[i]);
      writer.se(range.cr_qp_offset_list[i]);
    }
  }
  writer.ue(range.log2_sao_offset_scale_luma);
  writer.ue(range.log2_sao_offset_scale_chroma);
}

/// @source 7.3.2.2
BitWriter sequence_set(const Parameters& picture, const std::optional<Range>& range) {
  const auto& fields = picture.pic_fields.bits;
  const auto& parsing = picture.slice_parsing_fields.bits;
  BitWriter writer;
  writer.bits(4, 0);  // sps_video_parameter_set_id
  writer.bits(3, 0);  // sps_max_sub_layers_minus1
  writer.bit(true);   // sps_temporal_id_nesting_flag
  write_profile(writer, picture);
  writer.ue(0);  // sps_seq_parameter_set_id
  writer.ue(fields.chroma_format_idc);
  if (fields.chroma_format_idc == 3) writer.bit(fields.separate_colour_plane_flag);
  writer.ue(picture.pic_width_in_luma_samples);
  writer.ue(picture.pic_height_in_luma_samples);
  writer.bit(false);  // conformance_window_flag
  writer.ue(picture.bit_depth_luma_minus8);
  writer.ue(picture.bit_depth_chroma_minus8);
  writer.ue(picture.log2_max_pic_order_cnt_lsb_minus4);
  write_buffering(writer, picture);
  writer.ue(picture.log2_min_luma_coding_block_size_minus3);
  writer.ue(picture.log2_diff_max_min_luma_coding_block_size);
  writer.ue(picture.log2_min_transform_block_size_minus2);
  writer.ue(picture.log2_diff_max_min_transform_block_size);
  writer.ue(picture.max_transform_hierarchy_depth_inter);
  writer.ue(picture.max_transform_hierarchy_depth_intra);
  writer.bit(fields.scaling_list_enabled_flag);
  if (fields.scaling_list_enabled_flag) writer.bit(false);  // sps_scaling_list_data_present_flag: they are in the PPS.
  writer.bit(fields.amp_enabled_flag);
  writer.bit(parsing.sample_adaptive_offset_enabled_flag);
  writer.bit(fields.pcm_enabled_flag);
  if (fields.pcm_enabled_flag) {
    writer.bits(4, picture.pcm_sample_bit_depth_luma_minus1);
    writer.bits(4, picture.pcm_sample_bit_depth_chroma_minus1);
    writer.ue(picture.log2_min_pcm_luma_coding_block_size_minus3);
    writer.ue(picture.log2_diff_max_min_pcm_luma_coding_block_size);
    writer.bit(fields.pcm_loop_filter_disabled_flag);
  }
  writer.ue(0);  // num_short_term_ref_pic_sets: every slice contains its own.
  writer.bit(parsing.long_term_ref_pics_present_flag);
  if (parsing.long_term_ref_pics_present_flag) writer.ue(0);  // num_long_term_ref_pics_sps
  writer.bit(parsing.sps_temporal_mvp_enabled_flag);
  writer.bit(fields.strong_intra_smoothing_enabled_flag);
  writer.bit(false);  // vui_parameters_present_flag
  write_extensions(writer, range.has_value());
  if (range) write_range(writer, *range);
  writer.stop();
  return writer;
}

/// Coefficients in the up-right diagonal scan, as differences. @source 7.3.4, 6.5.3
template <std::size_t kCount>
void write_list(BitWriter& writer, const std::uint8_t (&raster)[kCount], const std::uint8_t* dc) {
  constexpr int kSide = kCount == 16 ? 4 : 8;
  writer.bit(true);  // scaling_list_pred_mode_flag
  int last = 8;
  if (dc) {
    last = *dc;
    writer.se(last - 8);
  }
  for (int sum = 0; sum < 2 * kSide - 1; ++sum) {
    for (int x = 0; x <= sum; ++x) {
      const int y = sum - x;
      if (x >= kSide || y >= kSide) continue;
      const int value = raster[y * kSide + x];
      writer.se(static_cast<std::int8_t>(value - last));
      last = value;
    }
  }
}

void write_matrix(BitWriter& writer, const VAIQMatrixBufferHEVC& matrix) {
  for (const auto& list : matrix.ScalingList4x4) write_list(writer, list, nullptr);
  for (const auto& list : matrix.ScalingList8x8) write_list(writer, list, nullptr);
  for (std::size_t i = 0; i < 6; ++i) write_list(writer, matrix.ScalingList16x16[i], &matrix.ScalingListDC16x16[i]);
  for (std::size_t i = 0; i < 2; ++i) write_list(writer, matrix.ScalingList32x32[i], &matrix.ScalingListDC32x32[i]);
}

/// @source 7.3.2.3
BitWriter picture_set(const Parameters& picture, const std::optional<Range>& range, std::uint32_t id,
                      const std::optional<VAIQMatrixBufferHEVC>& matrix) {
  const auto& fields = picture.pic_fields.bits;
  const auto& parsing = picture.slice_parsing_fields.bits;
  BitWriter writer;
  writer.ue(id);
  writer.ue(0);  // pps_seq_parameter_set_id
  writer.bit(parsing.dependent_slice_segments_enabled_flag);
  writer.bit(parsing.output_flag_present_flag);
  writer.bits(3, picture.num_extra_slice_header_bits);
  writer.bit(fields.sign_data_hiding_enabled_flag);
  writer.bit(parsing.cabac_init_present_flag);
  writer.ue(picture.num_ref_idx_l0_default_active_minus1);
  writer.ue(picture.num_ref_idx_l1_default_active_minus1);
  writer.se(picture.init_qp_minus26);
  writer.bit(fields.constrained_intra_pred_flag);
  writer.bit(fields.transform_skip_enabled_flag);
  writer.bit(fields.cu_qp_delta_enabled_flag);
  if (fields.cu_qp_delta_enabled_flag) writer.ue(picture.diff_cu_qp_delta_depth);
  writer.se(picture.pps_cb_qp_offset);
  writer.se(picture.pps_cr_qp_offset);
  writer.bit(parsing.pps_slice_chroma_qp_offsets_present_flag);
  writer.bit(fields.weighted_pred_flag);
  writer.bit(fields.weighted_bipred_flag);
  writer.bit(fields.transquant_bypass_enabled_flag);
  writer.bit(fields.tiles_enabled_flag);
  writer.bit(fields.entropy_coding_sync_enabled_flag);
  if (fields.tiles_enabled_flag) {
    writer.ue(picture.num_tile_columns_minus1);
    writer.ue(picture.num_tile_rows_minus1);
    writer.bit(false);  // uniform_spacing_flag
    for (int i = 0; i < picture.num_tile_columns_minus1; ++i) writer.ue(picture.column_width_minus1[i]);
    for (int i = 0; i < picture.num_tile_rows_minus1; ++i) writer.ue(picture.row_height_minus1[i]);
    writer.bit(fields.loop_filter_across_tiles_enabled_flag);
  }
  writer.bit(fields.pps_loop_filter_across_slices_enabled_flag);
  writer.bit(true);  // deblocking_filter_control_present_flag
  writer.bit(parsing.deblocking_filter_override_enabled_flag);
  writer.bit(parsing.pps_disable_deblocking_filter_flag);
  if (!parsing.pps_disable_deblocking_filter_flag) {
    writer.se(picture.pps_beta_offset_div2);
    writer.se(picture.pps_tc_offset_div2);
  }
  const bool has_lists = fields.scaling_list_enabled_flag && matrix;
  writer.bit(has_lists);  // pps_scaling_list_data_present_flag
  if (has_lists) write_matrix(writer, *matrix);
  writer.bit(parsing.lists_modification_present_flag);
  writer.ue(picture.log2_parallel_merge_level_minus2);
  writer.bit(parsing.slice_segment_header_extension_present_flag);
  write_extensions(writer, range.has_value());
  if (range) write_range(writer, *range, fields.transform_skip_enabled_flag);
  writer.stop();
  return writer;
}

/// The set of short-term reference pictures. @source 7.3.7, with the number 0
void write_short_term(BitWriter& writer, const Parameters& picture) {
  struct One {
    std::int64_t distance;  ///< Difference of any two signed 32-bit numbers.
    bool used;
  };
  std::vector<One> before, after;
  for (const VAPictureHEVC& reference : picture.ReferenceFrames) {
    if (reference.picture_id == VA_INVALID_SURFACE || (reference.flags & VA_PICTURE_HEVC_INVALID) ||
        (reference.flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE))
      continue;
    const std::int64_t distance = static_cast<std::int32_t>(static_cast<std::uint32_t>(picture.CurrPic.pic_order_cnt) -
                                                            static_cast<std::uint32_t>(reference.pic_order_cnt));
    const bool used = reference.flags & (VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE | VA_PICTURE_HEVC_RPS_ST_CURR_AFTER);
    if (distance > 0) before.push_back({distance, used});
    if (distance < 0) after.push_back({-distance, used});
  }
  writer.ue(static_cast<std::uint32_t>(before.size()));
  writer.ue(static_cast<std::uint32_t>(after.size()));
  for (auto* side : {&before, &after}) {
    std::sort(side->begin(), side->end(), [](const One& a, const One& b) { return a.distance < b.distance; });
    std::int64_t last = 0;
    for (const One& one : *side) {
      writer.ue(static_cast<std::uint32_t>(std::max<std::int64_t>(one.distance - last, 1) - 1));
      writer.bit(one.used);
      last = one.distance;
    }
  }
}

/// The long-term reference pictures, each said in full. @source 7.3.6.1, 8.3.2
void write_long_term(BitWriter& writer, const Parameters& picture) {
  struct One {
    std::uint32_t lsb, cycle;
    bool used;
  };
  const int lsb_bits = picture.log2_max_pic_order_cnt_lsb_minus4 + 4;
  const std::uint32_t mask = (1u << lsb_bits) - 1;
  const auto current = static_cast<std::uint32_t>(picture.CurrPic.pic_order_cnt);
  std::vector<One> all;
  for (const VAPictureHEVC& reference : picture.ReferenceFrames) {
    if (reference.picture_id == VA_INVALID_SURFACE || (reference.flags & VA_PICTURE_HEVC_INVALID) ||
        !(reference.flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE))
      continue;
    const auto order = static_cast<std::uint32_t>(reference.pic_order_cnt);
    all.push_back({order & mask, ((current & ~mask) - (order & ~mask)) >> lsb_bits,
                   (reference.flags & VA_PICTURE_HEVC_RPS_LT_CURR) != 0});
  }
  std::sort(all.begin(), all.end(), [](const One& a, const One& b) { return a.cycle < b.cycle; });
  writer.ue(static_cast<std::uint32_t>(all.size()));
  std::uint32_t last = 0;
  for (const One& one : all) {
    writer.bits(lsb_bits, one.lsb);
    writer.bit(one.used);
    writer.bit(true);  // delta_poc_msb_present_flag
    writer.ue(one.cycle - last);
    last = one.cycle;
  }
}

/// The part of a slice header before its references.
struct Header {
  std::uint32_t nal_type = 0, pps_id = 0;
  bool has_references = false;  ///< False for IDR pictures and for dependent segments.
  std::size_t flag_at = 0;      ///< The bit of short_term_ref_pic_set_sps_flag.
};

Header read_header(BitReader& reader, const Parameters& picture) {
  const auto& parsing = picture.slice_parsing_fields.bits;
  Header header;
  header.nal_type = reader.bits(16) >> 9 & 63;
  const bool is_first = reader.bit();
  if (header.nal_type >= 16 && header.nal_type <= 23) reader.bit();  // no_output_of_prior_pics_flag
  header.pps_id = std::min(reader.ue(), 63u);
  if (!is_first) {
    const bool dependent = parsing.dependent_slice_segments_enabled_flag && reader.bit();
    const int log2_ctb =
        picture.log2_min_luma_coding_block_size_minus3 + 3 + picture.log2_diff_max_min_luma_coding_block_size;
    const std::uint32_t ctb = 1u << std::min(log2_ctb, 16);
    const std::uint32_t across = (picture.pic_width_in_luma_samples + ctb - 1) / ctb;
    reader.bits(bits_for(across * ((picture.pic_height_in_luma_samples + ctb - 1) / ctb)));
    if (dependent) return header;
  }
  reader.bits(picture.num_extra_slice_header_bits);
  reader.ue();  // slice_type
  if (parsing.output_flag_present_flag) reader.bit();
  if (picture.pic_fields.bits.chroma_format_idc == 3 && picture.pic_fields.bits.separate_colour_plane_flag)
    reader.bits(2);
  if (header.nal_type == 19 || header.nal_type == 20) return header;
  reader.bits(picture.log2_max_pic_order_cnt_lsb_minus4 + 4);
  header.has_references = true;
  header.flag_at = reader.position();
  return header;
}

/// Goes to the first bit behind the reference pictures.
void skip_references(BitReader& reader, const Parameters& picture) {
  if (reader.bit())
    reader.bits(bits_for(picture.num_short_term_ref_pic_sets));
  else
    for (std::uint32_t i = 0; i < picture.st_rps_bits && !reader.is_past_end(); ++i) reader.bit();
  if (!picture.slice_parsing_fields.bits.long_term_ref_pics_present_flag) return;
  const std::uint32_t from_sps = picture.num_long_term_ref_pic_sps > 0 ? reader.ue() : 0;
  const std::uint32_t own = reader.ue();
  for (std::uint64_t i = 0; i < std::uint64_t{from_sps} + own && !reader.is_past_end(); ++i) {
    if (i < from_sps) {
      reader.bits(bits_for(picture.num_long_term_ref_pic_sps));
    } else {
      reader.bits(picture.log2_max_pic_order_cnt_lsb_minus4 + 4);
      reader.bit();
    }
    if (reader.bit()) reader.ue();
  }
}

/// The position of the last one among the first bits: where a header's alignment begins.
std::size_t last_one(std::span<const std::uint8_t> bytes) {
  for (std::size_t at = bytes.size(); at > 0; --at) {
    if (bytes[at - 1]) return (at - 1) * 8 + 7 - static_cast<std::size_t>(std::countr_zero(bytes[at - 1]));
  }
  return 0;
}

class HevcWriter final : public StreamWriter {
 public:
  std::size_t picture_bytes() const override { return sizeof(Parameters); }
  std::size_t slice_bytes() const override { return sizeof(VASliceParameterBufferHEVC); }

  std::int64_t pixels(const Picture& given) const override {
    const auto picture = structure<Parameters>(given.parameters);
    return picture ? std::int64_t{picture->pic_width_in_luma_samples} * picture->pic_height_in_luma_samples : 0;
  }

  VAStatus write(const Picture& given, Bytes& stream) override {
    const auto picture = structure<Parameters>(given.parameters);
    if (!picture || given.slices.empty() || !is_valid(*picture)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto range = range_of(*picture, given.parameters);
    if (range && range->chroma_qp_offset_list_len_minus1 > 5) return VA_STATUS_ERROR_INVALID_PARAMETER;
    units_.clear();
    std::uint32_t pps_id = 0;
    for (const Slice& slice : given.slices) {
      const auto parameters = structure<VASliceParameterBufferHEVC>(slice.parameters);
      if (!parameters) return VA_STATUS_ERROR_INVALID_PARAMETER;
      const auto unit = part(slice.data, parameters->slice_data_offset, parameters->slice_data_size);
      if (unit.size() < 3) return VA_STATUS_ERROR_INVALID_PARAMETER;
      if (!rewrite(*picture, unescape(unit, unit.size()), parameters->slice_data_byte_offset, pps_id))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    append(stream, kVps, video_set(*picture), last_vps_);
    if (append(stream, kSps, sequence_set(*picture, range), last_sps_))
      last_pps_.clear();  // A new SPS invalidates its PPS.
    append(stream, kPps, picture_set(*picture, range, pps_id, structure<VAIQMatrixBufferHEVC>(given.iq_matrix)),
           last_pps_);
    for (const Bytes& unit : units_) {
      append_start_code(stream);
      append_escaped(stream, unit);
    }
    return VA_STATUS_SUCCESS;
  }

  void repeat_sequence() noexcept override {
    last_vps_.clear();
    last_sps_.clear();
    last_pps_.clear();
  }

 private:
  static bool is_valid(const Parameters& picture) {
    return picture.num_tile_columns_minus1 <= 19 && picture.num_tile_rows_minus1 <= 21 &&
           picture.log2_max_pic_order_cnt_lsb_minus4 <= 12 && picture.num_extra_slice_header_bits <= 7 &&
           picture.sps_max_dec_pic_buffering_minus1 <= 15 && picture.pic_fields.bits.chroma_format_idc >= 1;
  }

  /// The parameters of the range extensions, which follow the plain ones in their profiles.
  static std::optional<Range> range_of(const Parameters& picture, std::span<const std::uint8_t> parameters) {
    if (picture.pic_fields.bits.chroma_format_idc == 1 || parameters.size() < sizeof(Parameters)) return std::nullopt;
    return structure<Range>(parameters.subspan(offsetof(VAPictureParameterBufferHEVCExtension, rext)));
  }

  /// Adds a slice with a header that needs no sets of the SPS.
  /// @param plain  The slice without emulation prevention. @param data_at  Where its data begins in that.
  bool rewrite(const Parameters& picture, const Bytes& plain, std::size_t data_at, std::uint32_t& pps_id) {
    if (data_at < 3 || data_at > plain.size()) return false;
    const auto header_bytes = std::span(plain).first(data_at);
    BitReader reader(header_bytes);
    const Header header = read_header(reader, picture);
    pps_id = header.pps_id;
    if (!header.has_references) {
      units_.push_back(plain);
      return true;
    }
    skip_references(reader, picture);
    const std::size_t end = last_one(header_bytes);
    if (reader.position() > end) return false;
    BitWriter writer;
    BitReader copy(header_bytes);
    while (copy.position() < header.flag_at) writer.bit(copy.bit());
    writer.bit(false);  // short_term_ref_pic_set_sps_flag
    write_short_term(writer, picture);
    if (picture.slice_parsing_fields.bits.long_term_ref_pics_present_flag) write_long_term(writer, picture);
    while (reader.position() < end) writer.bit(reader.bit());
    writer.stop();
    Bytes unit = writer.bytes();
    unit.insert(unit.end(), plain.begin() + static_cast<std::ptrdiff_t>(data_at), plain.end());
    units_.push_back(std::move(unit));
    return true;
  }

  static bool append(Bytes& stream, std::uint8_t type, const BitWriter& set, Bytes& last) {
    if (set.bytes() == last) return false;
    last = set.bytes();
    append_start_code(stream);
    stream.push_back(static_cast<std::uint8_t>(type << 1));
    stream.push_back(1);  // nuh_temporal_id_plus1
    append_escaped(stream, last);
    return true;
  }

  Bytes last_vps_, last_sps_, last_pps_;
  std::vector<Bytes> units_;
};

}  // namespace
}  // namespace hevc

std::unique_ptr<StreamWriter> make_hevc_writer() { return std::make_unique<hevc::HevcWriter>(); }

}  // namespace tenon::va
