// SPDX-License-Identifier: Apache-2.0
// Writes H.264 field pictures, which no available encoder makes: PCM macroblocks, skipped ones, and predictions without
// a residual, in CAVLC.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/drivers/vaapi/codec/bits.hpp>

namespace tenon::va::test {

/// Random numbers that are the same on all machines.
class Dice {
 public:
  std::uint32_t below(std::uint32_t count) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % count;
  }

 private:
  std::uint32_t state_ = 1;
};

/// @source ITU-T H.264, 7.3
class FieldStream {
 public:
  enum Structure { kFrame, kTop, kBottom };
  struct Picture {
    Structure structure;
    bool is_predicted;
    bool is_idr = false, is_reference = true;
  };
  static constexpr std::uint32_t kFrameRows_mbs = 4;

  explicit FieldStream(std::uint32_t width_mbs) : width_mbs_(width_mbs) {
    BitWriter sequence;
    sequence.bits(8, 77);  // Main profile.
    sequence.bits(8, 0);
    sequence.bits(8, 30);  // Level 3.
    sequence.ue(0);        // seq_parameter_set_id
    sequence.ue(0);        // log2_max_frame_num_minus4
    sequence.ue(0);        // pic_order_cnt_type
    sequence.ue(4);        // log2_max_pic_order_cnt_lsb_minus4
    sequence.ue(2);        // max_num_ref_frames
    sequence.bit(false);   // gaps_in_frame_num_value_allowed_flag
    sequence.ue(width_mbs_ - 1);
    sequence.ue(kFrameRows_mbs / 2 - 1);
    sequence.bit(false);  // frame_mbs_only_flag
    sequence.bit(false);  // mb_adaptive_frame_field_flag
    sequence.bit(true);   // direct_8x8_inference_flag
    sequence.bit(false);  // frame_cropping_flag
    sequence.bit(false);  // vui_parameters_present_flag
    sequence.stop();
    unit(0x67, sequence);
    BitWriter picture;
    picture.ue(0);
    picture.ue(0);
    picture.bit(false);  // entropy_coding_mode_flag
    picture.bit(false);  // bottom_field_pic_order_in_frame_present_flag
    picture.ue(0);       // num_slice_groups_minus1
    picture.ue(0);       // num_ref_idx_l0_default_active_minus1
    picture.ue(0);       // num_ref_idx_l1_default_active_minus1
    picture.bit(false);  // weighted_pred_flag
    picture.bits(2, 0);  // weighted_bipred_idc
    picture.se(0);       // pic_init_qp_minus26
    picture.se(0);       // pic_init_qs_minus26
    picture.se(0);       // chroma_qp_index_offset
    picture.bit(false);  // deblocking_filter_control_present_flag
    picture.bit(false);  // constrained_intra_pred_flag
    picture.bit(false);  // redundant_pic_cnt_present_flag
    picture.stop();
    unit(0x68, picture);
  }

  /// Two fields, the first of which may be an IDR picture; or a frame.
  void frame(const Picture& only) { frame(&only, 1); }
  void frame(const Picture& first, const Picture& second) {
    const Picture both[] = {first, second};
    frame(both, 2);
  }
  std::string bytes() const { return {stream_.begin(), stream_.end()}; }
  const Bytes& stream() const { return stream_; }

 private:
  void frame(const Picture* pictures, int count) {
    if (pictures[0].is_idr) frame_num_ = order_ = 0;
    for (int i = 0; i < count; ++i) picture(pictures[i], order_ + static_cast<std::uint32_t>(i));
    order_ += 2;
    if (pictures[0].is_reference) frame_num_ = (frame_num_ + 1) % 16;
    has_references_ = true;
  }

  void unit(std::uint8_t header, const BitWriter& payload) {
    append_start_code(stream_);
    stream_.push_back(header);
    append_escaped(stream_, payload.bytes());
  }

  /// Writes the picture as two slices.
  void picture(const Picture& picture, std::uint32_t order) {
    const std::uint32_t rows = picture.structure == kFrame ? kFrameRows_mbs : kFrameRows_mbs / 2;
    const std::uint32_t count = width_mbs_ * rows;
    slice(picture, order, 0, count / 2 + 1);
    slice(picture, order, count / 2 + 1, count);
  }

  void slice(const Picture& picture, std::uint32_t order, std::uint32_t begin, std::uint32_t end) {
    BitWriter writer;
    writer.ue(begin);
    writer.ue(picture.is_predicted ? 5 : 7);  // slice_type
    writer.ue(0);                             // pic_parameter_set_id
    writer.bits(4, frame_num_);
    writer.bit(picture.structure != kFrame);
    if (picture.structure != kFrame) writer.bit(picture.structure == kBottom);
    if (picture.is_idr) writer.ue(0);  // idr_pic_id
    writer.bits(8, order % 256);
    // The other field of the same frame is a reference already; a frame before has two.
    const bool two = picture.is_predicted && picture.structure != kFrame && has_references_;
    if (picture.is_predicted) {
      writer.bit(two);  // num_ref_idx_active_override_flag
      if (two) writer.ue(1);
      writer.bit(false);  // ref_pic_list_modification_flag_l0
    }
    if (picture.is_reference) {
      writer.bit(false);  // adaptive_ref_pic_marking_mode_flag; or no_output_of_prior_pics_flag
      if (picture.is_idr) writer.bit(false);
    }
    writer.se(0);  // slice_qp_delta
    for (std::uint32_t skipped = 0, at = begin; at < end; ++at)
      macroblock(writer, picture, two, at + 1 == end, skipped);
    writer.stop();
    unit(static_cast<std::uint8_t>((picture.is_reference ? 0x60 : 0) | (picture.is_idr ? 5 : 1)), writer);
  }

  /// @param skipped  The run of skipped ones before, which is written with the next one, or at the end.
  void macroblock(BitWriter& writer, const Picture& picture, bool two_references, bool is_last,
                  std::uint32_t& skipped) {
    const std::uint32_t kind = picture.is_predicted ? dice_.below(4) : 3;
    if (kind < 2) {
      ++skipped;
      if (is_last) writer.ue(skipped);
      return;
    }
    if (picture.is_predicted) writer.ue(skipped);
    skipped = 0;
    if (kind == 2) {
      writer.ue(0);  // P_L0_16x16
      if (two_references) writer.bit(dice_.below(2) == 0);
      for (int i = 0; i < 2; ++i) writer.se(static_cast<std::int32_t>(dice_.below(13)) - 6);
      writer.ue(0);  // coded_block_pattern: no residual.
      return;
    }
    writer.ue(picture.is_predicted ? 30 : 25);  // I_PCM
    writer.align();
    const std::uint32_t shade = dice_.below(200);
    for (int i = 0; i < 384; ++i) writer.bits(8, 16 + shade + dice_.below(20));
  }

  const std::uint32_t width_mbs_;
  Bytes stream_;
  Dice dice_;
  std::uint32_t frame_num_ = 0, order_ = 0;
  bool has_references_ = false;
};

/// Fields in both orders, predicted from each other and from frames; frames between them; non-reference fields.
inline std::string fields_of_h264() {
  FieldStream stream(6);
  using Picture = FieldStream::Picture;
  constexpr auto kTop = FieldStream::kTop, kBottom = FieldStream::kBottom, kFrame = FieldStream::kFrame;
  stream.frame(Picture{kTop, false, true}, Picture{kBottom, true});
  for (int round = 0; round < 4; ++round) {
    stream.frame(Picture{kTop, true}, Picture{kBottom, true});
    stream.frame(Picture{kBottom, true}, Picture{kTop, true});
    stream.frame(Picture{kFrame, true});
    stream.frame(Picture{kTop, true, false, false}, Picture{kBottom, true, false, false});
    stream.frame(Picture{kTop, false}, Picture{kBottom, false});
    stream.frame(Picture{kFrame, true, false, false});
  }
  stream.frame(Picture{kTop, false, true}, Picture{kBottom, false});
  stream.frame(Picture{kTop, true}, Picture{kBottom, true});
  return stream.bytes();
}

}  // namespace tenon::va::test
