// SPDX-License-Identifier: Apache-2.0
// Pixel formats beside the usual ones of pixel_format.hpp: other orders, more bits, alpha, big endian.
#pragma once

#include <cstdint>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {

/// @name Known to format_info(), so they are wrapped, shared, cropped and mapped. frame_layout() says which are read pixel by
/// pixel: all but words into which several samples are packed, real numbers and kUyyvyy. Samples of more than 8 bits are kU16,
/// words are kU8, kU16 or kU32 of one channel, real numbers kF32; all little endian (see big_endian()). Where DRM has no fourcc
/// it is ours. @source drm_fourcc.h @{
inline constexpr PixelFormat kArgb{fourcc('B', 'A', '2', '4')};     ///< Bytes A, R, G, B.
inline constexpr PixelFormat kAbgr{fourcc('R', 'A', '2', '4')};     ///< Bytes A, B, G, R.
inline constexpr PixelFormat kXrgb{fourcc('B', 'X', '2', '4')};     ///< Bytes any, R, G, B.
inline constexpr PixelFormat kXbgr{fourcc('R', 'X', '2', '4')};     ///< Bytes any, B, G, R.
inline constexpr PixelFormat kRgb565{fourcc('R', 'G', '1', '6')};   ///< Words, R in the high bits.
inline constexpr PixelFormat kBgr565{fourcc('B', 'G', '1', '6')};   ///< Words, B in the high bits.
inline constexpr PixelFormat kXrgb555{fourcc('X', 'R', '1', '5')};  ///< Words, R in the high bits.
inline constexpr PixelFormat kXbgr555{fourcc('X', 'B', '1', '5')};  ///< Words, B in the high bits.
inline constexpr PixelFormat kRgb10a2{fourcc('A', 'B', '3', '0')};  ///< Words of 32 bits, R in the low bits.
inline constexpr PixelFormat kBgr10a2{fourcc('A', 'R', '3', '0')};  ///< Words of 32 bits, B in the low bits.
inline constexpr PixelFormat kRgba64{fourcc('A', 'B', '4', '8')};   ///< R, G, B, A of 16 bits.
inline constexpr PixelFormat kBgra64{fourcc('A', 'R', '4', '8')};   ///< B, G, R, A of 16 bits.
inline constexpr PixelFormat kArgb64{fourcc('T', 'A', '6', '4')};   ///< A, R, G, B of 16 bits. Ours.
inline constexpr PixelFormat kAbgr64{fourcc('T', 'B', '6', '4')};   ///< A, B, G, R of 16 bits. Ours.
inline constexpr PixelFormat kGbra{fourcc('T', 'G', 'A', '8')};     ///< Planes G, B, R, A. Ours, as the next four.
inline constexpr PixelFormat kGbr10{fourcc('T', 'G', '1', '0')};    ///< Values in the low bits, as the next three.
inline constexpr PixelFormat kGbr12{fourcc('T', 'G', '1', '2')};
inline constexpr PixelFormat kGbra10{fourcc('T', 'A', '1', '0')};
inline constexpr PixelFormat kGbra12{fourcc('T', 'A', '1', '2')};
inline constexpr PixelFormat kNv61{fourcc('N', 'V', '6', '1')};  ///< NV16 with V before U.
inline constexpr PixelFormat kNv24{fourcc('N', 'V', '2', '4')};
inline constexpr PixelFormat kNv12a{fourcc('T', 'N', 'V', 'A')};  ///< NV12 and a plane of alpha. Ours.
inline constexpr PixelFormat kP012{fourcc('P', '0', '1', '2')};   ///< Values in the high bits.
inline constexpr PixelFormat kP016{fourcc('P', '0', '1', '6')};
inline constexpr PixelFormat kI411{fourcc('Y', 'U', '1', '1')};
inline constexpr PixelFormat kI410{fourcc('Y', 'U', 'V', '9')};
inline constexpr PixelFormat kYv410{fourcc('Y', 'V', 'U', '9')};    ///< Planes Y, V, U.
inline constexpr PixelFormat kI420a{fourcc('T', 'Y', 'A', '0')};    ///< I420 and a plane of alpha. Ours.
inline constexpr PixelFormat kI420p10{fourcc('S', '0', '1', '0')};  ///< Values in the low bits, as all S formats.
inline constexpr PixelFormat kI422p10{fourcc('S', '2', '1', '0')};
inline constexpr PixelFormat kI444p10{fourcc('S', '4', '1', '0')};
inline constexpr PixelFormat kI420p12{fourcc('S', '0', '1', '2')};
inline constexpr PixelFormat kI422p12{fourcc('S', '2', '1', '2')};
inline constexpr PixelFormat kI444p12{fourcc('S', '4', '1', '2')};
inline constexpr PixelFormat kI444p16{fourcc('S', '4', '1', '6')};
inline constexpr PixelFormat kI420ap10{fourcc('T', 'A', '0', 'A')};  ///< With a plane of alpha. Ours, as the next two.
inline constexpr PixelFormat kI422ap10{fourcc('T', 'A', '2', 'A')};
inline constexpr PixelFormat kI444ap10{fourcc('T', 'A', '4', 'A')};
inline constexpr PixelFormat kYvyu{fourcc('Y', 'V', 'Y', 'U')};  ///< Two pixels are four samples, as the next three.
inline constexpr PixelFormat kVyuy{fourcc('V', 'Y', 'U', 'Y')};
inline constexpr PixelFormat kY210{fourcc('Y', '2', '1', '0')};  ///< Y, U, Y, V; values in the high bits.
inline constexpr PixelFormat kY212{fourcc('Y', '2', '1', '2')};
inline constexpr PixelFormat kYuv24{fourcc('V', 'U', '2', '4')};   ///< Bytes Y, U, V.
inline constexpr PixelFormat kUyv24{fourcc('T', 'U', 'Y', 'V')};   ///< Bytes U, Y, V. Ours.
inline constexpr PixelFormat kVuya{fourcc('A', 'Y', 'U', 'V')};    ///< Bytes V, U, Y, A.
inline constexpr PixelFormat kAyuv{fourcc('T', 'A', 'Y', '8')};    ///< Bytes A, Y, U, V. Ours.
inline constexpr PixelFormat kAyuv64{fourcc('T', 'A', 'Y', '6')};  ///< A, Y, U, V of 16 bits. Ours.
inline constexpr PixelFormat kY410{fourcc('Y', '4', '1', '0')};    ///< Words of 32 bits, U in the low bits.
inline constexpr PixelFormat kY412{fourcc('Y', '4', '1', '2')};    ///< U, Y, V, A of 16 bits; values in the high bits.
inline constexpr PixelFormat kV216{fourcc('v', '2', '1', '6')};    ///< U, Y, V, Y of 16 bits.
inline constexpr PixelFormat kUyyvyy{fourcc('I', 'Y', 'U', '1')};  ///< Bytes U, Y, Y, V, Y, Y of four pixels.
inline constexpr PixelFormat kRgb48{fourcc('B', 'G', '4', '8')};   ///< R, G, B of 16 bits.
inline constexpr PixelFormat kBgr48{fourcc('R', 'G', '4', '8')};   ///< B, G, R of 16 bits.
inline constexpr PixelFormat kGray10{fourcc('R', '1', '0', ' ')};  ///< Values in the low bits, as the next three.
inline constexpr PixelFormat kGray12{fourcc('R', '1', '2', ' ')};
inline constexpr PixelFormat kGray9{fourcc('T', 'R', '0', '9')};  ///< Ours, as all that follow up to kNv42.
inline constexpr PixelFormat kGray14{fourcc('T', 'R', '1', '4')};
inline constexpr PixelFormat kGrayF32{fourcc('T', 'R', 'F', '4')};  ///< 0 to 1.
inline constexpr PixelFormat kGrayA8{fourcc('T', 'Y', '8', 'A')};   ///< Grey and alpha side by side.
inline constexpr PixelFormat kGrayA16{fourcc('T', 'Y', 'G', 'A')};
inline constexpr PixelFormat kGbr9{fourcc('T', 'G', '0', '9')};  ///< Planes; values in the low bits.
inline constexpr PixelFormat kGbr14{fourcc('T', 'G', '1', '4')};
inline constexpr PixelFormat kGbr16{fourcc('T', 'G', '1', '6')};
inline constexpr PixelFormat kGbra16{fourcc('T', 'A', '1', '6')};
inline constexpr PixelFormat kGbrF32{fourcc('T', 'G', 'F', '4')};  ///< 0 to 1.
inline constexpr PixelFormat kGbraF32{fourcc('T', 'A', 'F', '4')};
inline constexpr PixelFormat kI440{fourcc('T', '4', '4', '0')};  ///< Chroma of half the height and the whole width.
inline constexpr PixelFormat kI440p10{fourcc('T', '4', '4', 'A')};
inline constexpr PixelFormat kI440p12{fourcc('T', '4', '4', 'C')};
inline constexpr PixelFormat kI420p9{
    fourcc('T', '0', '0', '9')};  ///< Values in the low bits, as all that follow up to kNv42.
inline constexpr PixelFormat kI422p9{fourcc('T', '2', '0', '9')};
inline constexpr PixelFormat kI444p9{fourcc('T', '4', '0', '9')};
inline constexpr PixelFormat kI420p14{fourcc('T', '0', '1', '4')};
inline constexpr PixelFormat kI422p14{fourcc('T', '2', '1', '4')};
inline constexpr PixelFormat kI444p14{fourcc('T', '4', '1', '4')};
inline constexpr PixelFormat kI422a{
    fourcc('T', 'Y', 'A', '2')};  ///< With a plane of alpha, as those that follow up to kNv20.
inline constexpr PixelFormat kI444a{fourcc('T', 'Y', 'A', '4')};
inline constexpr PixelFormat kI420ap9{fourcc('T', 'A', '0', '9')};
inline constexpr PixelFormat kI422ap9{fourcc('T', 'A', '2', '9')};
inline constexpr PixelFormat kI444ap9{fourcc('T', 'A', '4', '9')};
inline constexpr PixelFormat kI422ap12{fourcc('T', 'A', '2', 'C')};
inline constexpr PixelFormat kI444ap12{fourcc('T', 'A', '4', 'C')};
inline constexpr PixelFormat kI420ap16{fourcc('T', 'A', '0', 'G')};
inline constexpr PixelFormat kI422ap16{fourcc('T', 'A', '2', 'G')};
inline constexpr PixelFormat kI444ap16{fourcc('T', 'A', '4', 'G')};
inline constexpr PixelFormat kNv20{fourcc('T', 'N', '2', '0')};  ///< NV16 of 10 bits.
inline constexpr PixelFormat kNv42{fourcc('N', 'V', '4', '2')};  ///< NV24 with V before U.
inline constexpr PixelFormat kP210{fourcc('P', '2', '1', '0')};  ///< NV16, values in the high bits.
inline constexpr PixelFormat kP216{fourcc('P', '2', '1', '6')};
inline constexpr PixelFormat kP410{fourcc('P', '4', '1', '0')};  ///< NV24, values in the high bits.
inline constexpr PixelFormat kP416{fourcc('P', '4', '1', '6')};
inline constexpr PixelFormat kI420p16{fourcc('S', '0', '1', '6')};
inline constexpr PixelFormat kI422p16{fourcc('S', '2', '1', '6')};
inline constexpr PixelFormat kRgb10x2{fourcc('X', 'B', '3', '0')};  ///< kRgb10a2 without alpha.
inline constexpr PixelFormat kBgr10x2{fourcc('X', 'R', '3', '0')};  ///< kBgr10a2 without alpha.
inline constexpr PixelFormat kXrgb444{fourcc('X', 'R', '1', '2')};  ///< Words of 16 bits, R in bits 8 to 11.
inline constexpr PixelFormat kXbgr444{fourcc('X', 'B', '1', '2')};  ///< Words of 16 bits, B in bits 8 to 11.
inline constexpr PixelFormat kRgb332{fourcc('R', 'G', 'B', '8')};   ///< Words of 8 bits, R in the high bits.
inline constexpr PixelFormat kBgr233{fourcc('B', 'G', 'R', '8')};   ///< Words of 8 bits, B in the high bits.
inline constexpr PixelFormat kRgb121{fourcc('T', 'R', '1', '2')};   ///< Words of 8 bits, R in bit 3. Ours, as the next.
inline constexpr PixelFormat kBgr121{fourcc('T', 'B', '1', '2')};   ///< Words of 8 bits, B in bit 3.
/// @}

/// The same format with the bytes of samples or words in big-endian order: a format of its own, called "gray16be" or so.
/// Precondition: its samples have more than 8 bits. @source drm_fourcc.h DRM_FORMAT_BIG_ENDIAN
inline constexpr std::uint32_t kBigEndian = 1u << 31;
constexpr PixelFormat big_endian(PixelFormat format) { return {format.fourcc | kBigEndian, format.modifier}; }
constexpr bool is_big_endian(PixelFormat format) { return (format.fourcc & kBigEndian) != 0; }

}  // namespace v1
}  // namespace tenon
