// SPDX-License-Identifier: Apache-2.0
// Layout of a pixel format for code that reads pixels: which sample of which plane holds which colour component, and
// how to convert to RGB.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {

/// Location of a colour component: sample (x >> shift_x) * step + offset of row y >> shift_y of a plane.
struct FrameComponent {
  std::uint8_t plane = 0, step = 1, offset = 0, shift_x = 0, shift_y = 0;
};

/// One plane as pixels of `step` samples, rows and columns rounded up where chroma is halved.
struct FramePlaneLayout {
  std::uint8_t step = 1, shift_x = 0, shift_y = 0;
};

/// Components in the order Y U V, R G B or grey.
struct FrameLayout {
  bool is_yuv = false;
  bool pairs = false;  ///< YUYV and UYVY: columns come in pairs, an odd width is rounded up.
  std::uint8_t component_count = 0;
  std::uint8_t plane_count = 0;  ///< Planes that are read, the first ones of the frame.
  bool has_alpha_plane = false;  ///< The frame has a plane of alpha after them.
  std::uint8_t bits = 8;         ///< Significant bits; more than 8 means samples of 16 bits.
  std::uint8_t shift = 0;        ///< Bits of a sample below the value: 6 in P010, 0 in I420 of 10 bits.
  bool swapped = false;          ///< Samples of 16 bits are big endian.
  std::array<FrameComponent, 3> components;
  std::array<FramePlaneLayout, 3> planes;

  ElementType sample_type() const { return bits > 8 ? ElementType::kU16 : ElementType::kU8; }
  /// The value of a sample of 16 bits, and the sample that holds a value.
  std::uint16_t value_of(std::uint16_t sample) const {
    if (swapped) sample = static_cast<std::uint16_t>(sample << 8 | sample >> 8);
    return static_cast<std::uint16_t>(sample >> shift & ((1u << bits) - 1));
  }
  std::uint16_t sample_of(std::uint16_t value) const {
    const auto sample = static_cast<std::uint16_t>(value << shift);
    return swapped ? static_cast<std::uint16_t>(sample << 8 | sample >> 8) : sample;
  }
};

/// @errors kUnimplemented: the format or modifier is not read pixel by pixel; the message says why, or lists those that are.
TENON_API FrameLayout frame_layout(const FrameInfo& info);

/// Whether two pixels share their chroma in one plane, as in YUYV: luma comes twice in its four samples.
TENON_API bool is_packed_422(const PixelFormatInfo& format);

/// Whether frame_layout() knows the format.
TENON_API bool is_readable(PixelFormat format);

/// All formats for which is_readable() holds: those that decoders and cameras give first, grey and big endian last.
TENON_API std::vector<PixelFormat> readable_formats();

/// The affine map from components to R, G, B in 0..255: offset[c] + sum over k of matrix[c][k] * sample[k], then
/// clamped.
struct ColourMap {
  std::array<std::array<double, 3>, 3> matrix{};
  std::array<double, 3> offset{};
};

/// Applies the defaults for unknown colour space and range (resolved_colour_space, resolved_colour_range).
TENON_API ColourMap rgb_from(const FrameInfo& info, const FrameLayout& layout);

/// Weights of red and blue in luma. @source ITU-R BT.601-7, BT.709-6, BT.2020-2 (non-constant luminance), SMPTE 240M
struct LumaWeights {
  double red = 0.299, blue = 0.114;
};
TENON_API LumaWeights luma_weights(ColourSpace space);

}  // namespace v1
}  // namespace tenon
