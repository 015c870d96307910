// SPDX-License-Identifier: Apache-2.0
// Resizes.
#pragma once

#include "openvino/op/util/make.hpp"

namespace ov {
namespace op {
namespace v4 {
class OPENVINO_API Interpolate : public Op, public util::InterpolateBase {
 public:
  OPENVINO_OP("Interpolate", "opset4")
  Interpolate(const Output<Node>& image, const Output<Node>& sizes, const Output<Node>& scales,
              const Output<Node>& axes, const InterpolateAttrs& attrs)
      : Op(make(4, {image, sizes, scales, axes}, attrs)) {}
  Interpolate(const Output<Node>& image, const Output<Node>& sizes, const Output<Node>& scales,
              const InterpolateAttrs& attrs)
      : Op(make(4, {image, sizes, scales}, attrs)) {}
  explicit Interpolate(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}

 protected:
  static std::shared_ptr<Impl> make(unsigned opset, const OutputVector& inputs, const InterpolateAttrs& attrs) {
    return ov::detail::make_op("Interpolate", opset, inputs,
                               {{"mode", attrs.mode},
                                {"shape_calculation_mode", attrs.shape_calculation_mode},
                                {"coordinate_transformation_mode", attrs.coordinate_transformation_mode},
                                {"nearest_mode", attrs.nearest_mode},
                                {"antialias", attrs.antialias},
                                {"pads_begin", attrs.pads_begin},
                                {"pads_end", attrs.pads_end},
                                {"cube_coeff", attrs.cube_coeff}});
  }
};
}  // namespace v4
namespace v11 {
class OPENVINO_API Interpolate : public v4::Interpolate {
 public:
  OPENVINO_OP("Interpolate", "opset11")
  Interpolate(const Output<Node>& image, const Output<Node>& sizes_or_scales, const InterpolateAttrs& attrs)
      : v4::Interpolate(make(11, {image, sizes_or_scales}, attrs)) {}
  Interpolate(const Output<Node>& image, const Output<Node>& sizes_or_scales, const Output<Node>& axes,
              const InterpolateAttrs& attrs)
      : v4::Interpolate(make(11, {image, sizes_or_scales, axes}, attrs)) {}
  explicit Interpolate(std::shared_ptr<Impl> impl) : v4::Interpolate(std::move(impl)) {}
};
}  // namespace v11
}  // namespace op
}  // namespace ov
