// SPDX-License-Identifier: Apache-2.0
// How pictures are resized.
#pragma once

namespace tenon {
inline namespace v1 {
namespace preprocess {

/// All align pixel centres. The first three look at a fixed number of pixels, as TensorFlow and ONNX do; the Pillow
/// forms widen the kernel when they shrink, so that every pixel counts.
enum class ResizeAlgorithm {
  RESIZE_LINEAR,   ///< 2 x 2 pixels.
  RESIZE_CUBIC,    ///< 4 x 4 pixels, coefficient -0.75.
  RESIZE_NEAREST,  ///< Ties to the lower index.
  RESIZE_BILINEAR_PILLOW,
  RESIZE_BICUBIC_PILLOW,  ///< Coefficient -0.5.
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
