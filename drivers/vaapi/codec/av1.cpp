// SPDX-License-Identifier: Apache-2.0
// AV1: OBUs from VADecPictureParameterBufferAV1. VA-API tells which surfaces are references of a picture, but not
// whether the picture becomes a reference itself: that is known only with the next picture. Therefore this file assigns
// the decoder's reference slots. A picture for which no slot is free is deferred until the next one, unless a client
// waits for it.
#include <algorithm>
#include <optional>

#include <tenon/drivers/vaapi/codec/av1_header.hpp>
#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace tenon::va {
namespace av1 {
namespace {

constexpr std::uint8_t kTemporalDelimiter = 2, kSequenceHeader = 1, kFrame = 6;

/// @source 5.3, with a size
void append_obu(Bytes& to, std::uint8_t type, std::span<const std::uint8_t> header,
                std::span<const std::uint8_t> payload = {}) {
  to.push_back(static_cast<std::uint8_t>(type << 3 | 2));
  std::size_t size = header.size() + payload.size();
  do {
    to.push_back(static_cast<std::uint8_t>((size & 127) | (size > 127 ? 128 : 0)));
    size >>= 7;
  } while (size);
  to.insert(to.end(), header.begin(), header.end());
  to.insert(to.end(), payload.begin(), payload.end());
}

bool refers_to(const Parameters& picture, VASurfaceID surface) {
  return std::find(std::begin(picture.ref_frame_map), std::end(picture.ref_frame_map), surface) !=
         std::end(picture.ref_frame_map);
}

class Av1Writer final : public StreamWriter {
 public:
  std::size_t picture_bytes() const override { return sizeof(Parameters); }
  std::size_t slice_bytes() const override { return sizeof(VASliceParameterBufferAV1); }
  VASurfaceID shown_surface() const override { return shown_; }
  bool holds() const override { return pending_ && pending_->waits; }

  void release(const Picture* next, Bytes& stream) override {
    if (!holds()) return;
    pending_->waits = false;
    const auto following = next ? structure<Parameters>(next->parameters) : std::nullopt;
    const bool is_known = following && is_valid(*following) && sequence_header(*following) == last_sequence_;
    const std::optional<std::size_t> slot = is_known ? slot_for_pending(*following) : std::nullopt;
    if (slot) keep_in(*slot);
    append_obu(stream, kTemporalDelimiter, {});
    append_obu(stream, kFrame, frame_header(pending_->picture, pending_->references), pending_->tiles);
    if (is_known) pending_.reset();
  }

  VAStatus write(const Picture& given, Bytes& stream) override {
    const auto picture = structure<Parameters>(given.parameters);
    if (!picture || !is_valid(*picture)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    Bytes tiles;
    if (!join_tiles(*picture, given.slices, tiles)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    shown_ = picture->film_grain_info.film_grain_info_fields.bits.apply_grain ? picture->current_display_picture
                                                                              : VA_INVALID_SURFACE;
    const Bytes sequence = sequence_header(*picture);
    if (sequence != last_sequence_) pending_.reset();  // No earlier picture is a reference any more.
    keep_pending(*picture, stream);
    References references{slots_, {}, 0, true};
    if (!is_intra(*picture) && !find_references(*picture, references)) return VA_STATUS_ERROR_DECODING_ERROR;
    for (Slot& slot : slots_) {
      if (slot.surface == picture->current_frame) slot.surface = VA_INVALID_SURFACE;  // About to be written.
    }
    const Slot own{picture->current_frame, picture->order_hint, motion_of(*picture)};
    if (fills_all_slots(*picture)) {
      slots_.fill(own);
    } else if (const auto slot = free_slot(*picture)) {
      references.refresh = static_cast<std::uint8_t>(1u << *slot);
      slots_[*slot] = own;
    } else {
      // All slots are full: the next picture tells which of them this one takes, if any.
      pending_ = Pending{*picture, references, tiles, own, sequence == last_sequence_};
      if (pending_->waits) return VA_STATUS_SUCCESS;
    }
    append_obu(stream, kTemporalDelimiter, {});
    if (sequence != last_sequence_) append_obu(stream, kSequenceHeader, sequence);
    last_sequence_ = sequence;
    append_obu(stream, kFrame, frame_header(*picture, references), tiles);
    return VA_STATUS_SUCCESS;
  }

  void repeat_sequence() noexcept override { last_sequence_.clear(); }

 private:
  /// A picture for which no slot was free.
  struct Pending {
    Parameters picture;
    References references;
    Bytes tiles;
    Slot own;
    bool waits =
        false;  ///< Not written yet. Otherwise it was decoded without being kept, which does not change the decoder's
                ///< slots.
  };

  /// The slot that became free for the pending picture, if it is a reference of this one.
  std::optional<std::size_t> slot_for_pending(const Parameters& picture) const {
    return refers_to(picture, pending_->own.surface) ? free_slot(picture) : std::nullopt;
  }
  void keep_in(std::size_t slot) {
    pending_->references.refresh = static_cast<std::uint8_t>(1u << slot);
    slots_[slot] = pending_->own;
  }

  /// If the last picture became a reference after all, it is decoded again, now into the slot that became free.
  void keep_pending(const Parameters& picture, Bytes& stream) {
    if (!pending_) return;
    if (const auto slot = slot_for_pending(picture)) {
      keep_in(*slot);
      pending_->references.show = false;
      append_obu(stream, kTemporalDelimiter, {});
      append_obu(stream, kFrame, frame_header(pending_->picture, pending_->references), pending_->tiles);
    }
    pending_.reset();
  }

  /// A slot whose picture is no longer a reference, or is also in another slot.
  std::optional<std::size_t> free_slot(const Parameters& picture) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const VASurfaceID surface = slots_[i].surface;
      const auto same = [surface](const Slot& slot) { return slot.surface == surface; };
      if (surface == VA_INVALID_SURFACE || !refers_to(picture, surface) ||
          std::any_of(slots_.begin() + static_cast<std::ptrdiff_t>(i) + 1, slots_.end(), same))
        return i;
    }
    return std::nullopt;
  }

  /// The decoder's slots of a picture's references. False if one was never decoded.
  static bool find_references(const Parameters& picture, References& references) {
    for (std::size_t i = 0; i < kReferences; ++i) {
      const VASurfaceID surface = picture.ref_frame_map[picture.ref_frame_idx[i] % kSlots];
      const auto found = std::find_if(references.slots.begin(), references.slots.end(),
                                      [&](const Slot& slot) { return slot.surface == surface; });
      if (surface == VA_INVALID_SURFACE || found == references.slots.end()) return false;
      references.index[i] = static_cast<std::uint8_t>(found - references.slots.begin());
    }
    return true;
  }

  /// The one tile group, with all tiles in their order. @source 5.11.1
  static bool join_tiles(const Parameters& picture, const std::vector<Slice>& slices, Bytes& group) {
    const std::size_t count = std::size_t{picture.tile_cols} * picture.tile_rows;
    if (slices.size() != count) return false;
    std::vector<std::span<const std::uint8_t>> tiles(count);
    for (const Slice& slice : slices) {
      const auto tile = structure<VASliceParameterBufferAV1>(slice.parameters);
      if (!tile || tile->tile_row >= picture.tile_rows || tile->tile_column >= picture.tile_cols) return false;
      tiles[std::size_t{tile->tile_row} * picture.tile_cols + tile->tile_column] =
          part(slice.data, tile->slice_data_offset, tile->slice_data_size);
    }
    if (count > 1) group.push_back(0);  // tile_start_and_end_present_flag, and alignment
    for (std::size_t i = 0; i < count; ++i) {
      if (tiles[i].empty()) return false;
      const std::size_t size = tiles[i].size() - 1;
      for (int byte = 0; byte < 4 && i + 1 < count; ++byte)
        group.push_back(static_cast<std::uint8_t>(size >> (8 * byte)));
      group.insert(group.end(), tiles[i].begin(), tiles[i].end());
    }
    return true;
  }

  std::array<Slot, kSlots> slots_;
  std::optional<Pending> pending_;
  Bytes last_sequence_;
  VASurfaceID shown_ = VA_INVALID_SURFACE;
};

}  // namespace
}  // namespace av1

std::unique_ptr<StreamWriter> make_av1_writer() { return std::make_unique<av1::Av1Writer>(); }

}  // namespace tenon::va
