// SPDX-License-Identifier: Apache-2.0
// Layout of a pixel format for code that reads pixels: which sample of which plane holds which colour component, and
// how to convert to RGB.
#pragma once

#include <array>
#include <cstdint>

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
  std::uint8_t component_count = 0, plane_count = 0;
  /// Significant bits; more than 8 means 16-bit samples with the value in the high bits (P010).
  std::uint8_t bits = 8;
  std::array<FrameComponent, 3> components;
  std::array<FramePlaneLayout, 3> planes;

  ElementType sample_type() const { return bits > 8 ? ElementType::kU16 : ElementType::kU8; }
};

/// @errors kUnimplemented: the CPU does not read this format or modifier; the message lists those it reads.
TENON_API FrameLayout frame_layout(const FrameInfo& info);

/// The affine map from components to R, G, B in 0..255: offset[c] + sum over k of matrix[c][k] * sample[k], then
/// clamped.
struct ColourMap {
  std::array<std::array<double, 3>, 3> matrix{};
  std::array<double, 3> offset{};
};

/// Applies the defaults for unknown colour space and range (resolved_colour_space, resolved_colour_range).
TENON_API ColourMap rgb_from(const FrameInfo& info, const FrameLayout& layout);

/// Weights of red and blue in luma. @source ITU-R BT.601-7, BT.709-6, BT.2020-2 (non-constant luminance)
struct LumaWeights {
  double red = 0.299, blue = 0.114;
};
TENON_API LumaWeights luma_weights(ColourSpace space);

}  // namespace v1
}  // namespace tenon
