// SPDX-License-Identifier: Apache-2.0
// The positions of a pixel's components in the planes of a format, and the conversion of colours from one picture to another.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace opencl {

/// One component of a pixel (R, G, B, or Y, U, V). It is a byte.
struct Component {
  std::size_t plane = 0, step = 1, offset = 0;  ///< Bytes from pixel to pixel of the plane, and within a pixel.
  unsigned width_shift = 0, height_shift = 0;
};

/// The components of a format: one for gray, else three. @errors kUnimplemented: a format whose components are not bytes, or a
/// packed format in which pixels share components (YUYV).
std::vector<Component> components_of(PixelFormat format);

/// All formats that components_of() takes.
std::vector<PixelFormat> known_formats();

/// A matrix of 3x4, row by row: out = m[0..2] * in + m[3], for values from 0 to 255. Gray counts as Y with neutral U and V.
using ColourMatrix = std::array<float, 12>;
ColourMatrix colours_between(const FrameInfo& from, const FrameInfo& to);

}  // namespace opencl
}  // namespace elements
}  // namespace v1
}  // namespace tenon
