// SPDX-License-Identifier: Apache-2.0
// Colour formats of pictures that a model is fed with.
#pragma once

namespace tenon {
inline namespace v1 {
namespace preprocess {

enum class ColorFormat {
  UNDEFINED,
  NV12_SINGLE_PLANE,  ///< One tensor [N, H * 3/2, W, 1]: luma, then U and V alternating at half the size.
  NV12_TWO_PLANES,    ///< Luma [N, H, W, 1] and chroma [N, H/2, W/2, 2].
  I420_SINGLE_PLANE,  ///< One tensor [N, H * 3/2, W, 1]: luma, then U, then V at half the size.
  I420_THREE_PLANES,  ///< Luma [N, H, W, 1], U and V [N, H/2, W/2, 1].
  RGB,                ///< Three channels.
  BGR,
  GRAY,  ///< One channel.
  RGBX,  ///< Four channels, the last without meaning.
  BGRX,
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
