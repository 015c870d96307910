// SPDX-License-Identifier: Apache-2.0
// Forms of ONNX's Resize that Interpolate does not have.
#pragma once

#include <string>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

struct ResizeForm {
  std::string mode;         ///< "linear" or "cubic".
  std::string coordinates;  ///< ONNX's coordinate_transformation_mode, without tf_crop_and_resize.
  double cube_coeff = -0.75;
  bool antialias = false;        ///< Where it makes smaller, the filter is as wide as what one output position covers.
  bool exclude_outside = false;  ///< Else positions beyond the border repeat it.
};

/// @param target  [axes] of i64 sizes or f32 scales; may be known only when the model runs.
Out resize_by_products(const Out& x, const Out& target, bool by_sizes, const Ints& axes, const ResizeForm& form);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
