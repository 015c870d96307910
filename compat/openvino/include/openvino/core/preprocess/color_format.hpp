// SPDX-License-Identifier: Apache-2.0
// Colour formats of pictures.
#pragma once

#include "openvino/core/core_visibility.hpp"

namespace ov {
namespace preprocess {

enum class ColorFormat {
  UNDEFINED,
  NV12_SINGLE_PLANE,
  NV12_TWO_PLANES,
  I420_SINGLE_PLANE,
  I420_THREE_PLANES,
  RGB,
  BGR,
  GRAY,
  RGBX,
  BGRX,
};

}  // namespace preprocess
}  // namespace ov
