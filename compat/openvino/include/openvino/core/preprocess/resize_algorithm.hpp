// SPDX-License-Identifier: Apache-2.0
// How pictures are resized.
#pragma once

#include "openvino/core/core_visibility.hpp"

namespace ov {
namespace preprocess {

enum class ResizeAlgorithm {
  RESIZE_LINEAR,
  RESIZE_CUBIC,
  RESIZE_NEAREST,
  RESIZE_BILINEAR_PILLOW,
  RESIZE_BICUBIC_PILLOW
};

}  // namespace preprocess
}  // namespace ov
