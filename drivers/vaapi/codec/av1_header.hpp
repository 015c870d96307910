// SPDX-License-Identifier: Apache-2.0
// AV1's headers, written from VADecPictureParameterBufferAV1.
#pragma once

#include <array>
#include <cstdint>

#include <va/va.h>

#include <tenon/drivers/vaapi/codec/bits.hpp>

namespace tenon::va::av1 {

using Parameters = VADecPictureParameterBufferAV1;

enum FrameType : std::uint32_t { kKey = 0, kInter = 1, kIntraOnly = 2, kSwitch = 3 };
inline constexpr int kSlots = 8, kReferences = 7;
inline constexpr std::uint32_t kNoPrimary = 7;

using GlobalMotion = std::array<std::array<std::int32_t, 6>, kReferences>;
/// The value for frames without global motion. @source AV1 specification, 7.20 and 6.8.2 (setup_past_independence)
inline constexpr std::array<std::int32_t, 6> kNoMotion = {0, 0, 1 << 16, 0, 0, 1 << 16};
GlobalMotion motion_of(const Parameters& picture);

/// One of the decoder's reference slots, with the values to which later headers are relative.
struct Slot {
  VASurfaceID surface = VA_INVALID_SURFACE;
  std::uint32_t order_hint = 0;
  GlobalMotion motion{};
};

/// How a frame refers to the decoder's slots.
struct References {
  std::array<Slot, kSlots> slots;                 ///< The slots before this frame.
  std::array<std::uint8_t, kReferences> index{};  ///< The slot of each reference; used by inter frames only.
  std::uint8_t refresh = 0;                       ///< One bit for each slot that keeps the frame.
  bool show = true;                               ///< False: decoded only as a reference.
};

/// True for frames that are neither predicted from others nor a switch.
bool is_intra(const Parameters& picture);
/// A shown key frame: it fills all slots.
bool fills_all_slots(const Parameters& picture);
/// Whether all values can be represented in a header.
bool is_valid(const Parameters& picture);

/// sequence_header_obu without its OBU's header. Everything that frames may choose is left to them. @source 5.5
Bytes sequence_header(const Parameters& picture);
/// uncompressed_header, up to the byte before the tiles. @source 5.9.2
Bytes frame_header(const Parameters& picture, const References& references);

}  // namespace tenon::va::av1
