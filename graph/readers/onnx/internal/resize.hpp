// SPDX-License-Identifier: Apache-2.0
// Forms of ONNX's Resize that Interpolate lacks.
#pragma once

#include <string>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

struct ResizeForm {
  std::string mode;         ///< "nearest", "linear" or "cubic".
  std::string coordinates;  ///< ONNX's coordinate_transformation_mode.
  std::string rounding;     ///< For nearest, ONNX's nearest_mode or "simple".
  double cube_coeff = -0.75;
  bool antialias = false;        ///< When reducing, the filter is as wide as the span of one output position.
  bool exclude_outside = false;  ///< Otherwise positions beyond the border repeat it.
  Out roi = {};        ///< tf_crop_and_resize: [2 * axes], all starts, then all ends, as parts of the extents.
  double outside = 0;  ///< The value of output positions whose centre lies outside of the input, with a roi.
  Out scale = {};      ///< A scalar: the scale of all axes, although the sizes are given.
};

/// @param target  [axes] of i64 sizes or f32 scales; may be unknown until the model runs.
Out resize_written_out(const Out& x, const Out& target, bool by_sizes, const Ints& axes, const ResizeForm& form);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
