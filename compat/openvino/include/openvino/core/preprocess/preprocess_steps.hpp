// SPDX-License-Identifier: Apache-2.0
// Steps between the caller's tensor and the model's input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/layout.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/preprocess/color_format.hpp"
#include "openvino/core/preprocess/padding_mode.hpp"
#include "openvino/core/preprocess/resize_algorithm.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {
namespace preprocess {

/// Steps between the caller's tensor and the model's input. Errors come from PrePostProcessor::build(), as AssertFailure, unless noted otherwise.
class OPENVINO_API PreProcessSteps final {
 public:
  PreProcessSteps(const PreProcessSteps&) = delete;
  PreProcessSteps& operator=(const PreProcessSteps&) = delete;

  using CustomPreprocessOp = std::function<Output<Node>(const Output<Node>& node)>;
  PreProcessSteps& clamp(double min_value, double max_value);
  PreProcessSteps& convert_element_type(const element::Type& type = {});
  PreProcessSteps& convert_color(const ColorFormat& dst_format);
  PreProcessSteps& scale(float value);
  PreProcessSteps& scale(const std::vector<float>& values);
  PreProcessSteps& mean(float value);
  PreProcessSteps& mean(const std::vector<float>& values);
  PreProcessSteps& pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end, float value,
                       PaddingMode mode);
  PreProcessSteps& pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end,
                       const std::vector<float>& values, PaddingMode mode);
  PreProcessSteps& resize(ResizeAlgorithm alg, std::size_t dst_height, std::size_t dst_width);
  PreProcessSteps& resize(ResizeAlgorithm alg);
  PreProcessSteps& crop(const std::vector<int>& begin, const std::vector<int>& end);
  PreProcessSteps& convert_layout(const Layout& dst_layout = {});
  PreProcessSteps& convert_layout(const std::vector<std::uint64_t>& dims);
  PreProcessSteps& reverse_channels();
  PreProcessSteps& custom(const CustomPreprocessOp& preprocess_cb);

 private:
  friend class InputInfo;
  explicit PreProcessSteps(void* there) : there_(there) {}
  void* there_;  ///< Tenon's.
};

}  // namespace preprocess
}  // namespace ov
