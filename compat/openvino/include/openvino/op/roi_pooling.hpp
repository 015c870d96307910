// SPDX-License-Identifier: Apache-2.0
// Pools regions of pictures to one size.
#pragma once

#include "openvino/op/util/make.hpp"

namespace ov {
namespace op {
namespace v0 {
class OPENVINO_API ROIPooling : public Op {
 public:
  OPENVINO_OP("ROIPooling", "opset2")
  /// @param output_size Height and width.
  ROIPooling(const Output<Node>& input, const Output<Node>& coords, const Shape& output_size, float spatial_scale,
             const std::string& method = "max")
      : Op(ov::detail::make_op("ROIPooling", 2, {input, coords},
                               {{"pooled_h", output_size.at(0)},
                                {"pooled_w", output_size.at(1)},
                                {"spatial_scale", spatial_scale},
                                {"method", method}})) {}
  Shape get_output_roi() const {
    return {ov::detail::attribute<std::size_t>(*this, "pooled_h"),
            ov::detail::attribute<std::size_t>(*this, "pooled_w")};
  }
  void set_output_roi(const Shape& output_size) {
    ov::detail::set_attribute(*this, "pooled_h", output_size.at(0));
    ov::detail::set_attribute(*this, "pooled_w", output_size.at(1));
  }
  float get_spatial_scale() const { return ov::detail::attribute<float>(*this, "spatial_scale"); }
  void set_spatial_scale(float scale) { ov::detail::set_attribute(*this, "spatial_scale", scale); }
  std::string get_method() const { return ov::detail::attribute<std::string>(*this, "method"); }
  void set_method(const std::string& method) { ov::detail::set_attribute(*this, "method", method); }
  explicit ROIPooling(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}
};
}  // namespace v0
}  // namespace op
}  // namespace ov
