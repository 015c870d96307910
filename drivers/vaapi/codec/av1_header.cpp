// SPDX-License-Identifier: Apache-2.0
// The bits of AV1's headers, in the order of the specification. VA-API does not carry some flags of the sequence
// header: these are set, since each frame header tells whether it uses the feature. Neither does it tell which slots a
// frame refreshes.
#include <tenon/drivers/vaapi/codec/av1_header.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tenon::va::av1 {
namespace {

constexpr std::uint32_t kMaxSide_px = 8192;

/// @name Codes of the specification, 4.10
/// @{
void write_signed(BitWriter& writer, int bits, int value) { writer.bits(bits, static_cast<std::uint32_t>(value)); }

void write_non_symmetric(BitWriter& writer, std::uint32_t count, std::uint32_t value) {
  const int width = std::bit_width(count);
  const std::uint32_t short_codes = (1u << width) - count;
  if (value < short_codes)
    writer.bits(width - 1, value);
  else
    writer.bits(width, value + short_codes);
}

/// Smallest k with size << k >= target.
int tile_log2(std::uint32_t size, std::uint32_t target) {
  int k = 0;
  while (size << k < target) ++k;
  return k;
}
/// @}

struct Size {
  std::uint32_t width, height;  ///< Size of the coded frame, before super-resolution.
};

Size coded_size(const Parameters& picture) {
  const std::uint32_t width = picture.frame_width_minus1 + 1u, height = picture.frame_height_minus1 + 1u;
  if (!picture.pic_info_fields.bits.use_superres) return {width, height};
  const std::uint32_t denominator = picture.superres_scale_denominator;
  return {(width * 8 + denominator / 2) / denominator, height};
}

/// 4:2:0 or none in profile 0, 4:4:4 in profile 1.
bool has_chroma_of_profile(const Parameters& picture) {
  const auto& fields = picture.seq_info_fields.fields;
  if (picture.profile == 1) return !fields.mono_chrome && !fields.subsampling_x && !fields.subsampling_y;
  return fields.mono_chrome || (fields.subsampling_x && fields.subsampling_y);
}
bool is_mono(const Parameters& picture) { return picture.seq_info_fields.fields.mono_chrome; }

std::uint32_t order_bits(const Parameters& picture) {
  return picture.seq_info_fields.fields.enable_order_hint ? picture.order_hint_bits_minus_1 + 1u : 0;
}

/// get_relative_dist. @source 7.20
int distance(std::uint32_t bits, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sign = 1u << (bits - 1), difference = a - b;
  return static_cast<int>(difference & (sign - 1)) - static_cast<int>(difference & sign);
}

/// The raw number: a client may write any value into the enumeration.
std::uint32_t raw_type(const VAWarpedMotionParamsAV1& motion) {
  std::uint32_t type = 0;
  static_assert(sizeof type == sizeof motion.wmtype);
  std::memcpy(&type, &motion.wmtype, sizeof type);
  return type;
}

/// Writes a frame header.
class FrameHeader {
 public:
  FrameHeader(const Parameters& picture, const References& references)
      : picture_(picture),
        info_(picture.pic_info_fields.bits),
        modes_(picture.mode_control_fields.bits),
        refs_(references) {
    intra_ = is_intra(picture);
    // A hidden key frame is decoded as an intra frame, which differs in nothing but the slots that it refreshes.
    type_ = intra_ ? (fills_all_slots(picture) ? kKey : kIntraOnly) : kInter;
    resilient_ = type_ == kKey || info_.error_resilient_mode || info_.frame_type == kSwitch;
    primary_ = intra_ || resilient_ ? kNoPrimary : picture.primary_ref_frame;
  }

  Bytes write() {
    write_start();
    write_references();
    if (!info_.disable_cdf_update) writer_.bit(info_.disable_frame_end_update_cdf);
    write_tiles();
    write_quantisation();
    write_segments();
    write_deltas();
    coded_lossless_ = is_coded_lossless();
    write_loop_filter();
    write_cdef();
    write_restoration();
    if (!coded_lossless_) writer_.bit(modes_.tx_mode == 2);  // tx_mode_select
    if (!intra_) writer_.bit(modes_.reference_select);
    if (skip_mode_allowed()) writer_.bit(modes_.skip_mode_present);
    if (!intra_ && !resilient_) writer_.bit(info_.allow_warped_motion);
    writer_.bit(modes_.reduced_tx_set_used);
    if (!intra_) write_motion();
    write_grain();
    return writer_.bytes();
  }

 private:
  void write_start() {
    writer_.bit(false);  // show_existing_frame
    writer_.bits(2, type_);
    writer_.bit(refs_.show);
    if (!refs_.show) writer_.bit(false);  // showable_frame
    if (type_ != kKey || !refs_.show) writer_.bit(resilient_);
    writer_.bit(info_.disable_cdf_update);
    writer_.bit(info_.allow_screen_content_tools);
    if (info_.allow_screen_content_tools) writer_.bit(info_.force_integer_mv);
    writer_.bit(true);  // frame_size_override_flag
    writer_.bits(static_cast<int>(order_bits(picture_)), picture_.order_hint);
    if (!intra_ && !resilient_) writer_.bits(3, primary_);
    if (type_ == kKey) return;
    writer_.bits(8, refs_.refresh);
    if (!resilient_) return;
    for (const Slot& slot : refs_.slots) writer_.bits(static_cast<int>(order_bits(picture_)), slot.order_hint);
  }

  void write_references() {
    if (intra_) {
      write_size();
      if (info_.allow_screen_content_tools && !info_.use_superres) writer_.bit(info_.allow_intrabc);
      return;
    }
    if (order_bits(picture_)) writer_.bit(false);  // frame_refs_short_signaling
    for (const std::uint8_t slot : refs_.index) writer_.bits(3, slot);
    if (!resilient_) writer_.bits(kReferences, 0);  // found_ref: the size follows here.
    write_size();
    const bool whole_motion = info_.allow_screen_content_tools && info_.force_integer_mv;
    if (!whole_motion) writer_.bit(info_.allow_high_precision_mv);
    writer_.bit(picture_.interp_filter == 4);  // is_filter_switchable
    if (picture_.interp_filter != 4) writer_.bits(2, picture_.interp_filter);
    writer_.bit(info_.is_motion_mode_switchable);
    if (!resilient_ && order_bits(picture_)) writer_.bit(info_.use_ref_frame_mvs);
  }

  /// frame_size, superres_params, render_size
  void write_size() {
    writer_.bits(16, picture_.frame_width_minus1);
    writer_.bits(16, picture_.frame_height_minus1);
    writer_.bit(info_.use_superres);
    if (info_.use_superres) writer_.bits(3, picture_.superres_scale_denominator - 9u);
    writer_.bit(false);  // render_and_frame_size_different
  }

  /// @source 5.9.15
  void write_tiles() {
    const int shift = picture_.seq_info_fields.fields.use_128x128_superblock ? 7 : 6;
    const Size size = coded_size(picture_);
    const std::uint32_t unit = (1u << shift) - 1;
    const std::uint32_t columns = (size.width + unit) >> shift, rows = (size.height + unit) >> shift;
    const std::uint32_t widest = 4096u >> shift, area = 4096u * 2304u >> (2 * shift);
    const int min = std::max(tile_log2(widest, columns), tile_log2(area, columns * rows));
    writer_.bit(info_.uniform_tile_spacing_flag);
    int columns_log2 = 0, rows_log2 = 0;
    if (info_.uniform_tile_spacing_flag) {
      columns_log2 = write_uniform(columns, picture_.tile_cols, tile_log2(widest, columns));
      rows_log2 = write_uniform(rows, picture_.tile_rows, std::max(min - columns_log2, 0));
    } else {
      const std::uint32_t width = write_explicit(columns, widest, picture_.tile_cols, picture_.width_in_sbs_minus_1);
      const std::uint32_t max = min > 0 ? columns * rows >> (min + 1) : columns * rows;
      write_explicit(rows, std::max(max / width, 1u), picture_.tile_rows, picture_.height_in_sbs_minus_1);
      columns_log2 = tile_log2(1, picture_.tile_cols);
      rows_log2 = tile_log2(1, picture_.tile_rows);
    }
    if (columns_log2 + rows_log2 == 0) return;
    writer_.bits(columns_log2 + rows_log2, picture_.context_update_tile_id);
    writer_.bits(2, 3);  // tile_size_bytes_minus_1
  }

  /// @return TileColsLog2 or TileRowsLog2.
  int write_uniform(std::uint32_t units, std::uint32_t tiles, int min) {
    const int max = tile_log2(1, std::min(units, 64u));
    const auto tiles_at = [units](int log2) {
      const std::uint32_t size = (units + (1u << log2) - 1) >> log2;
      return (units + size - 1) / size;
    };
    int log2 = min;
    for (; log2 < max && tiles_at(log2) < tiles; ++log2) writer_.bit(true);
    if (log2 < max) writer_.bit(false);
    return log2;
  }

  /// @return The widest tile.
  std::uint32_t write_explicit(std::uint32_t units, std::uint32_t max, std::uint32_t tiles,
                               const std::uint16_t (&sizes)[63]) {
    std::uint32_t start = 0, widest = 1;
    for (std::uint32_t tile = 0; start < units; ++tile) {
      const std::uint32_t room = std::min(units - start, max);
      const std::uint32_t size = tile + 1 < tiles && tile < 63 ? std::min(sizes[tile] + 1u, room) : room;
      write_non_symmetric(writer_, room, size - 1);
      widest = std::max(widest, size);
      start += size;
    }
    return widest;
  }

  void write_delta_q(int value) {
    writer_.bit(value != 0);
    if (value) write_signed(writer_, 7, value);
  }

  void write_quantisation() {
    writer_.bits(8, picture_.base_qindex);
    write_delta_q(picture_.y_dc_delta_q);
    if (!is_mono(picture_)) {
      const bool differ =
          picture_.u_dc_delta_q != picture_.v_dc_delta_q || picture_.u_ac_delta_q != picture_.v_ac_delta_q;
      writer_.bit(differ);
      write_delta_q(picture_.u_dc_delta_q);
      write_delta_q(picture_.u_ac_delta_q);
      if (differ) {
        write_delta_q(picture_.v_dc_delta_q);
        write_delta_q(picture_.v_ac_delta_q);
      }
    }
    const auto& matrix = picture_.qmatrix_fields.bits;
    writer_.bit(matrix.using_qmatrix);
    if (!matrix.using_qmatrix) return;
    writer_.bits(4, matrix.qm_y);
    writer_.bits(4, matrix.qm_u);
    if (!is_mono(picture_)) writer_.bits(4, matrix.qm_v);
  }

  void write_segments() {
    const auto& info = picture_.seg_info.segment_info_fields.bits;
    writer_.bit(info.enabled);
    if (!info.enabled) return;
    if (primary_ != kNoPrimary) {
      writer_.bit(info.update_map);
      if (info.update_map) writer_.bit(info.temporal_update);
      writer_.bit(info.update_data);
      if (!info.update_data) return;
    }
    constexpr int kBits[8] = {8, 6, 6, 6, 6, 3, 0, 0}, kSigned = 5;
    for (std::size_t segment = 0; segment < 8; ++segment) {
      for (int feature = 0; feature < 8; ++feature) {
        const bool on = picture_.seg_info.feature_mask[segment] >> feature & 1;
        writer_.bit(on);
        if (on)
          write_signed(writer_, kBits[feature] + (feature < kSigned), picture_.seg_info.feature_data[segment][feature]);
      }
    }
  }

  void write_deltas() {
    if (!picture_.base_qindex) return;
    writer_.bit(modes_.delta_q_present_flag);
    if (!modes_.delta_q_present_flag) return;
    writer_.bits(2, modes_.log2_delta_q_res);
    if (info_.allow_intrabc) return;
    writer_.bit(modes_.delta_lf_present_flag);
    if (!modes_.delta_lf_present_flag) return;
    writer_.bits(2, modes_.log2_delta_lf_res);
    writer_.bit(modes_.delta_lf_multi);
  }

  bool is_coded_lossless() const {
    if (picture_.y_dc_delta_q) return false;
    if (!is_mono(picture_) &&
        (picture_.u_dc_delta_q || picture_.u_ac_delta_q || picture_.v_dc_delta_q || picture_.v_ac_delta_q))
      return false;
    const auto& segments = picture_.seg_info;
    if (!segments.segment_info_fields.bits.enabled) return picture_.base_qindex == 0;
    for (std::size_t segment = 0; segment < 8; ++segment) {
      const int change = segments.feature_mask[segment] & 1 ? segments.feature_data[segment][0] : 0;
      if (picture_.base_qindex + change > 0) return false;
    }
    return true;
  }

  void write_loop_filter() {
    if (coded_lossless_ || info_.allow_intrabc) return;
    const auto& filter = picture_.loop_filter_info_fields.bits;
    writer_.bits(6, picture_.filter_level[0]);
    writer_.bits(6, picture_.filter_level[1]);
    if (!is_mono(picture_) && (picture_.filter_level[0] || picture_.filter_level[1])) {
      writer_.bits(6, picture_.filter_level_u);
      writer_.bits(6, picture_.filter_level_v);
    }
    writer_.bits(3, filter.sharpness_level);
    writer_.bit(filter.mode_ref_delta_enabled);
    if (!filter.mode_ref_delta_enabled) return;
    writer_.bit(filter.mode_ref_delta_update);
    if (!filter.mode_ref_delta_update) return;
    const auto write_all = [this](const auto& deltas) {
      for (const int delta : deltas) {
        writer_.bit(true);
        write_signed(writer_, 7, delta);
      }
    };
    write_all(picture_.ref_deltas);
    write_all(picture_.mode_deltas);
  }

  void write_cdef() {
    if (coded_lossless_ || info_.allow_intrabc || !picture_.seq_info_fields.fields.enable_cdef) return;
    writer_.bits(2, picture_.cdef_damping_minus_3);
    writer_.bits(2, picture_.cdef_bits);
    for (std::size_t i = 0; i < std::size_t{1} << (picture_.cdef_bits & 3); ++i) {
      writer_.bits(6, picture_.cdef_y_strengths[i]);
      if (!is_mono(picture_)) writer_.bits(6, picture_.cdef_uv_strengths[i]);
    }
  }

  void write_restoration() {
    if ((coded_lossless_ && !info_.use_superres) || info_.allow_intrabc) return;
    const auto& fields = picture_.loop_restoration_fields.bits;
    constexpr std::uint32_t kCode[4] = {0, 2, 3, 1};  // none, Wiener, self-guided, switchable
    writer_.bits(2, kCode[fields.yframe_restoration_type]);
    const bool chroma = !is_mono(picture_);
    if (chroma) {
      writer_.bits(2, kCode[fields.cbframe_restoration_type]);
      writer_.bits(2, kCode[fields.crframe_restoration_type]);
    }
    const bool uses_chroma = chroma && (fields.cbframe_restoration_type || fields.crframe_restoration_type);
    if (!fields.yframe_restoration_type && !uses_chroma) return;
    if (picture_.seq_info_fields.fields.use_128x128_superblock) {
      writer_.bit(fields.lr_unit_shift > 1);
    } else {
      writer_.bit(fields.lr_unit_shift > 0);
      if (fields.lr_unit_shift > 0) writer_.bit(fields.lr_unit_shift > 1);
    }
    if (uses_chroma && picture_.profile == 0) writer_.bit(fields.lr_uv_shift);
  }

  /// @source 5.9.22
  bool skip_mode_allowed() const {
    const std::uint32_t bits = order_bits(picture_);
    if (intra_ || !modes_.reference_select || !bits) return false;
    const Slot *forward = nullptr, *backward = nullptr, *second = nullptr;
    const auto closer = [bits](const Slot& slot, const Slot* than, int sign) {
      return !than || sign * distance(bits, slot.order_hint, than->order_hint) > 0;
    };
    for (const std::uint8_t index : refs_.index) {
      const Slot& slot = refs_.slots[index];
      const int apart = distance(bits, slot.order_hint, picture_.order_hint);
      if (apart < 0 && closer(slot, forward, 1)) forward = &slot;
      if (apart > 0 && closer(slot, backward, -1)) backward = &slot;
    }
    if (!forward) return false;
    if (backward) return true;
    for (const std::uint8_t index : refs_.index) {
      const Slot& slot = refs_.slots[index];
      if (distance(bits, slot.order_hint, forward->order_hint) < 0 && closer(slot, second, 1)) second = &slot;
    }
    return second != nullptr;
  }

  /// @name Global motion, coded as differences from the primary reference. @source 5.9.24 to 5.9.28
  /// @{
  void write_motion() {
    GlobalMotion before;
    before.fill(kNoMotion);
    if (primary_ != kNoPrimary) before = refs_.slots[refs_.index[primary_]].motion;
    for (std::size_t i = 0; i < kReferences; ++i) {
      const auto& motion = picture_.wm[i];
      const int type = static_cast<int>(motion.wmtype);
      writer_.bit(type != VAAV1TransformationIdentity);
      if (type == VAAV1TransformationIdentity) continue;
      writer_.bit(type == VAAV1TransformationRotzoom);
      if (type != VAAV1TransformationRotzoom) writer_.bit(type == VAAV1TransformationTranslation);
      const auto write_one = [&](std::size_t at) { write_parameter(type, at, motion.wmmat[at], before[i][at]); };
      if (type >= VAAV1TransformationRotzoom) {
        write_one(2);
        write_one(3);
        if (type == VAAV1TransformationAffine) {
          write_one(4);
          write_one(5);
        }
      }
      write_one(0);
      write_one(1);
    }
  }

  void write_parameter(int type, std::size_t at, std::int32_t value, std::int32_t before) {
    int bits = 12, precision = 15;
    if (at < 2) {
      const int less = info_.allow_high_precision_mv ? 0 : 1;
      bits = type == VAAV1TransformationTranslation ? 9 - less : 12;
      precision = type == VAAV1TransformationTranslation ? 3 - less : 6;
    }
    const int shift = 16 - precision;
    const bool is_diagonal = at % 3 == 2;
    const std::int32_t max = 1 << bits, offset = is_diagonal ? 1 << precision : 0;
    const auto code = [&](std::int32_t number) {
      return static_cast<std::uint32_t>(std::clamp((number >> shift) - offset, -max, max) + max);
    };
    write_near(static_cast<std::uint32_t>(2 * max + 1), code(before), code(value));
  }

  /// The inverse of decode_unsigned_subexp_with_ref.
  void write_near(std::uint32_t count, std::uint32_t before, std::uint32_t value) {
    const auto recentre = [](std::uint32_t around, std::uint32_t number) {
      if (number > 2 * around) return number;
      return number >= around ? 2 * (number - around) : 2 * (around - number) - 1;
    };
    write_subexp(count,
                 2 * before <= count ? recentre(before, value) : recentre(count - 1 - before, count - 1 - value));
  }

  void write_subexp(std::uint32_t count, std::uint32_t value) {
    std::uint32_t from = 0;
    for (int i = 0;; ++i) {
      const int bits = i ? 2 + i : 3;
      const std::uint32_t step = 1u << bits;
      if (count <= from + 3 * step) {
        write_non_symmetric(writer_, count - from, value - from);
        return;
      }
      const bool more = value >= from + step;
      writer_.bit(more);
      if (!more) {
        writer_.bits(bits, value - from);
        return;
      }
      from += step;
    }
  }
  /// @}

  /// @source 5.9.30
  void write_grain() {
    if (!picture_.seq_info_fields.fields.film_grain_params_present || !refs_.show) return;
    const auto& grain = picture_.film_grain_info;
    const auto& fields = grain.film_grain_info_fields.bits;
    writer_.bit(fields.apply_grain);
    if (!fields.apply_grain) return;
    writer_.bits(16, grain.grain_seed);
    if (type_ == kInter) writer_.bit(true);  // update_grain
    const auto write_points = [this](std::uint32_t count, const auto& values, const auto& scalings) {
      writer_.bits(4, count);
      for (std::size_t i = 0; i < count; ++i) {
        writer_.bits(8, values[i]);
        writer_.bits(8, scalings[i]);
      }
    };
    const auto write_coefficients = [this](std::size_t count, const auto& values) {
      for (std::size_t i = 0; i < count; ++i) writer_.bits(8, static_cast<std::uint32_t>(values[i] + 128));
    };
    write_points(grain.num_y_points, grain.point_y_value, grain.point_y_scaling);
    const bool mono = is_mono(picture_), from_luma = !mono && fields.chroma_scaling_from_luma;
    if (!mono) writer_.bit(from_luma);
    const bool own_chroma = !mono && !from_luma && (picture_.profile == 1 || grain.num_y_points != 0);
    if (own_chroma) {
      write_points(grain.num_cb_points, grain.point_cb_value, grain.point_cb_scaling);
      write_points(grain.num_cr_points, grain.point_cr_value, grain.point_cr_scaling);
    }
    const bool cb = own_chroma && grain.num_cb_points, cr = own_chroma && grain.num_cr_points;
    writer_.bits(2, fields.grain_scaling_minus_8);
    writer_.bits(2, fields.ar_coeff_lag);
    const std::size_t luma = 2u * fields.ar_coeff_lag * (fields.ar_coeff_lag + 1u);
    const std::size_t chroma = luma + (grain.num_y_points ? 1 : 0);
    if (grain.num_y_points) write_coefficients(luma, grain.ar_coeffs_y);
    if (from_luma || cb) write_coefficients(chroma, grain.ar_coeffs_cb);
    if (from_luma || cr) write_coefficients(chroma, grain.ar_coeffs_cr);
    writer_.bits(2, fields.ar_coeff_shift_minus_6);
    writer_.bits(2, fields.grain_scale_shift);
    if (cb) write_mix(grain.cb_mult, grain.cb_luma_mult, grain.cb_offset);
    if (cr) write_mix(grain.cr_mult, grain.cr_luma_mult, grain.cr_offset);
    writer_.bit(fields.overlap_flag);
    writer_.bit(fields.clip_to_restricted_range);
  }
  void write_mix(std::uint32_t own, std::uint32_t luma, std::uint32_t offset) {
    writer_.bits(8, own);
    writer_.bits(8, luma);
    writer_.bits(9, offset);
  }

  const Parameters& picture_;
  const decltype(Parameters::pic_info_fields.bits)& info_;
  const decltype(Parameters::mode_control_fields.bits)& modes_;
  const References& refs_;
  bool intra_ = false, resilient_ = false, coded_lossless_ = false;
  std::uint32_t type_ = kKey, primary_ = kNoPrimary;
  BitWriter writer_;
};

}  // namespace

GlobalMotion motion_of(const Parameters& picture) {
  GlobalMotion motion;
  motion.fill(kNoMotion);
  for (std::size_t i = 0; i < kReferences && !is_intra(picture); ++i) {
    if (picture.wm[i].wmtype != VAAV1TransformationIdentity) std::copy_n(picture.wm[i].wmmat, 6, motion[i].begin());
  }
  return motion;
}

bool is_intra(const Parameters& picture) {
  const std::uint32_t type = picture.pic_info_fields.bits.frame_type;
  return type == kKey || type == kIntraOnly;
}

bool fills_all_slots(const Parameters& picture) {
  const auto& info = picture.pic_info_fields.bits;
  return info.frame_type == kKey && info.show_frame;
}

bool is_valid(const Parameters& picture) {
  const auto& info = picture.pic_info_fields.bits;
  const auto& grain = picture.film_grain_info;
  const bool scales =
      !info.use_superres || (picture.superres_scale_denominator >= 9 && picture.superres_scale_denominator <= 16);
  return picture.profile <= 1 && picture.frame_width_minus1 < kMaxSide_px &&
         picture.frame_height_minus1 < kMaxSide_px && picture.bit_depth_idx <= 1 && !info.large_scale_tile && scales &&
         has_chroma_of_profile(picture) && picture.order_hint_bits_minus_1 <= 7 && picture.interp_filter <= 4 &&
         picture.primary_ref_frame <= kNoPrimary && picture.tile_cols >= 1 && picture.tile_cols <= 64 &&
         picture.tile_rows >= 1 && picture.tile_rows <= 64 && grain.num_y_points <= 14 && grain.num_cb_points <= 10 &&
         grain.num_cr_points <= 10 && std::all_of(std::begin(picture.wm), std::end(picture.wm), [](const auto& motion) {
           return raw_type(motion) < VAAV1TransformationCount;
         });
}

Bytes sequence_header(const Parameters& picture) {
  const auto& fields = picture.seq_info_fields.fields;
  BitWriter writer;
  writer.bits(3, picture.profile);
  writer.bits(2, 0);   // still_picture, reduced_still_picture_header
  writer.bits(2, 0);   // timing_info_present_flag, initial_display_delay_present_flag
  writer.bits(17, 0);  // one operating point, with all layers
  writer.bits(5, 31);  // seq_level_idx: no limits
  writer.bit(false);   // seq_tier
  writer.bits(4, 15);
  writer.bits(4, 15);
  writer.bits(16, kMaxSide_px - 1);  // Sizes are in the frame headers.
  writer.bits(16, kMaxSide_px - 1);
  writer.bit(false);  // frame_id_numbers_present_flag
  writer.bit(fields.use_128x128_superblock);
  writer.bit(fields.enable_filter_intra);
  writer.bit(fields.enable_intra_edge_filter);
  writer.bit(fields.enable_interintra_compound);
  writer.bit(fields.enable_masked_compound);
  writer.bit(true);  // enable_warped_motion
  writer.bit(fields.enable_dual_filter);
  writer.bit(fields.enable_order_hint);
  if (fields.enable_order_hint) {
    writer.bit(fields.enable_jnt_comp);
    writer.bit(true);  // enable_ref_frame_mvs
  }
  writer.bit(true);  // seq_choose_screen_content_tools
  writer.bit(true);  // seq_choose_integer_mv
  if (fields.enable_order_hint) writer.bits(3, picture.order_hint_bits_minus_1);
  writer.bit(true);  // enable_superres
  writer.bit(fields.enable_cdef);
  writer.bit(true);  // enable_restoration
  writer.bit(picture.bit_depth_idx == 1);
  if (picture.profile == 0) writer.bit(fields.mono_chrome);
  writer.bit(false);  // color_description_present_flag
  writer.bit(fields.color_range);
  if (!fields.mono_chrome) {
    if (picture.profile == 0) writer.bits(2, 0);  // chroma_sample_position
    writer.bit(true);                             // separate_uv_delta_q
  }
  writer.bit(fields.film_grain_params_present);
  writer.stop();
  return writer.bytes();
}

Bytes frame_header(const Parameters& picture, const References& references) {
  return FrameHeader(picture, references).write();
}

}  // namespace tenon::va::av1
