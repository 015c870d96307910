// SPDX-License-Identifier: Apache-2.0
// Where the colours of a pixel lie in a format's planes, and how colours of one picture become those of another.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace opencl {

/// One of a pixel's numbers: R, G, B, or Y, U, V. Bytes.
struct Component {
  std::size_t plane = 0, step = 1, offset = 0;  ///< From pixel to pixel of the plane, and within one.
  unsigned width_shift = 0, height_shift = 0;
};

/// One of gray pictures, else three. @errors kUnimplemented: a format with other numbers than bytes, or that shares them among
/// pixels (YUYV).
std::vector<Component> components_of(PixelFormat format);

/// Rows of 3x4: out = m[0..2] * in + m[3], numbers from 0 to 255. Gray counts as Y with neutral U and V.
using ColourMatrix = std::array<float, 12>;
ColourMatrix colours_between(const FrameInfo& from, const FrameInfo& to);

}  // namespace opencl
}  // namespace elements
}  // namespace v1
}  // namespace tenon
