// SPDX-License-Identifier: Apache-2.0
// Steps between the caller's tensor and the model's input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/preprocess/color_format.hpp>
#include <tenon/runtime/preprocess/padding_mode.hpp>
#include <tenon/runtime/preprocess/resize_algorithm.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
struct InputPlan;
}

/// Each call appends a step and returns *this; steps run in that order. Conversions to the model's element type and
/// layout follow by themselves. Unless noted otherwise, errors are AssertFailure and come from PrePostProcessor::build.
class TENON_API PreProcessSteps final {
 public:
  PreProcessSteps(const PreProcessSteps&) = delete;
  PreProcessSteps& operator=(const PreProcessSteps&) = delete;

  PreProcessSteps& clamp(double min_value, double max_value);
  /// Converts to the given type, or to the model's input type if none is given. Conversions from real types to integers truncate.
  PreProcessSteps& convert_element_type(const element::Type& type = {});
  /// Converts NV12 and I420 to RGB, BGR or GRAY; RGB and BGR to each other and to GRAY; RGBX and BGRX to RGB or BGR. The result
  /// has the input's element type; integers are rounded.
  /// @errors Another pair of formats, or set_color_format was not called.
  PreProcessSteps& convert_color(const ColorFormat& dst_format);
  /// Divides by the value; a list has one value per channel.
  /// @errors The type is an integer; the list has another length, or the layout has no C.
  PreProcessSteps& scale(float value);
  PreProcessSteps& scale(const std::vector<float>& values);
  /// Subtracts the value; a list has one value per channel. @errors as scale.
  PreProcessSteps& mean(float value);
  PreProcessSteps& mean(const std::vector<float>& values);
  /// Pads each axis by these numbers of elements, in the axis order at this step.
  /// @errors The type is an integer; the lists have another length than the rank.
  PreProcessSteps& pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end, float value,
                       PaddingMode mode);
  /// @errors The list has more or less than one value.
  PreProcessSteps& pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end,
                       const std::vector<float>& values, PaddingMode mode);

  using CustomPreprocessOp = std::function<Output<Node>(const Output<Node>& node)>;
  /// Adds the nodes that the callback makes from the step's input. build() and operator<< call it.
  PreProcessSteps& custom(const CustomPreprocessOp& preprocess_cb);
  /// Resizes to this height and width in pixels. Needs H and W in the layout.
  PreProcessSteps& resize(ResizeAlgorithm alg, std::size_t dst_height, std::size_t dst_width);
  /// Resizes to the model's height and width. @errors Also: these are dynamic.
  PreProcessSteps& resize(ResizeAlgorithm alg);
  /// Keeps [begin, end) of each axis; negative positions count from the end.
  /// @errors AssertFailure at once: lists of different length.
  PreProcessSteps& crop(const std::vector<int>& begin, const std::vector<int>& end);
  /// Converts to the given layout, or to the model's layout if none is given.
  PreProcessSteps& convert_layout(const Layout& dst_layout = {});
  /// Axis i of the result is axis dims[i] of the input; an empty list does nothing.
  PreProcessSteps& convert_layout(const std::vector<uint64_t>& dims);
  /// Reverses the channels. Needs C in the layout.
  PreProcessSteps& reverse_channels();

 private:
  friend class InputInfo;
  explicit PreProcessSteps(detail::InputPlan& plan) : plan_(&plan) {}
  detail::InputPlan* plan_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
