// SPDX-License-Identifier: Apache-2.0
// Steps between the model's output and the caller's tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/layout.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/preprocess/color_format.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {
namespace preprocess {

/// Steps between the model's output and the caller's tensor. Errors come from PrePostProcessor::build(), as AssertFailure, unless noted otherwise.
class OPENVINO_API PostProcessSteps final {
 public:
  PostProcessSteps(const PostProcessSteps&) = delete;
  PostProcessSteps& operator=(const PostProcessSteps&) = delete;

  using CustomPostprocessOp = std::function<Output<Node>(const Output<Node>& node)>;
  PostProcessSteps& clamp(double min_value, double max_value);
  PostProcessSteps& convert_element_type(const element::Type& type = {});
  PostProcessSteps& convert_layout(const Layout& dst_layout = {});
  PostProcessSteps& convert_layout(const std::vector<std::uint64_t>& dims);
  PostProcessSteps& convert_color(const ColorFormat& dst_format);
  PostProcessSteps& custom(const CustomPostprocessOp& postprocess_cb);

 private:
  friend class OutputInfo;
  explicit PostProcessSteps(void* there) : there_(there) {}
  void* there_;  ///< Tenon's.
};

}  // namespace preprocess
}  // namespace ov
