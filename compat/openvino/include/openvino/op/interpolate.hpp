// SPDX-License-Identifier: Apache-2.0
// Resizes.
#pragma once

#include "openvino/op/util/make.hpp"

namespace ov {
namespace op {
namespace v0 {
/// The old form, whose sizes are those of the axes alone.
class OPENVINO_API Interpolate : public Op {
 public:
  OPENVINO_OP("Interpolate", "opset1")
  enum class InterpolateMode { NEAREST, LINEAR, CUBIC, AREA };
  friend ov::detail::EnumTexts enum_texts(InterpolateMode) {
    return {"InterpolateMode", {"nearest", "linear", "cubic", "area"}};
  }
  struct Attributes {
    AxisSet axes;
    std::string mode;
    bool align_corners = true;
    bool antialias = false;
    std::vector<std::size_t> pads_begin;
    std::vector<std::size_t> pads_end;
  };
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Attributes& attrs)
      : Op(ov::detail::make_op("Interpolate", 1, {image, output_shape},
                               {{"axes", attrs.axes},
                                {"mode", attrs.mode},
                                {"align_corners", attrs.align_corners},
                                {"antialias", attrs.antialias},
                                {"pads_begin", attrs.pads_begin},
                                {"pads_end", attrs.pads_end}})) {}
  Attributes get_attrs() const {
    Attributes attrs;
    attrs.axes = ov::detail::attribute<AxisSet>(*this, "axes");
    attrs.mode = ov::detail::attribute<std::string>(*this, "mode");
    attrs.align_corners = ov::detail::attribute<bool>(*this, "align_corners");
    attrs.antialias = ov::detail::attribute<bool>(*this, "antialias");
    attrs.pads_begin = ov::detail::attribute<std::vector<std::size_t>>(*this, "pads_begin");
    attrs.pads_end = ov::detail::attribute<std::vector<std::size_t>>(*this, "pads_end");
    return attrs;
  }
  void set_attrs(const Attributes& attrs) {
    ov::detail::set_attribute(*this, "axes", attrs.axes);
    ov::detail::set_attribute(*this, "mode", attrs.mode);
    ov::detail::set_attribute(*this, "align_corners", attrs.align_corners);
    ov::detail::set_attribute(*this, "antialias", attrs.antialias);
    ov::detail::set_attribute(*this, "pads_begin", attrs.pads_begin);
    ov::detail::set_attribute(*this, "pads_end", attrs.pads_end);
  }
  explicit Interpolate(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}
};
}  // namespace v0
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
