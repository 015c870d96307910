// SPDX-License-Identifier: Apache-2.0
// Pixel formats that media libraries hand over and Tenon carries plane by plane, but does not read pixel by pixel.
#pragma once

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {

/// @name Known to format_info(), so they are wrapped, shared, cropped and mapped. frame_layout() and with it the input stage
/// refuse them. Samples of more than 8 bits are kU16, little endian; words into which several samples are packed are kU16 or
/// kU32 of one channel. Where DRM has no fourcc it is ours. @source drm_fourcc.h @{
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
/// @}

}  // namespace v1
}  // namespace tenon
