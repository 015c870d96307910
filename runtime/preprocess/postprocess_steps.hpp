// SPDX-License-Identifier: Apache-2.0
// Steps between the model's output and the caller's tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/preprocess/color_format.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
struct OutputPlan;
}

/// As PreProcessSteps: appended in order, errors are AssertFailure from PrePostProcessor::build.
class TENON_API PostProcessSteps final {
 public:
  PostProcessSteps(const PostProcessSteps&) = delete;
  PostProcessSteps& operator=(const PostProcessSteps&) = delete;

  PostProcessSteps& clamp(double min_value, double max_value);
  /// Converts to the given type, or to the tensor's type if none is given. @errors Neither is known.
  PostProcessSteps& convert_element_type(const element::Type& type = {});
  /// Converts to the given layout, or to the tensor's layout if none is given.
  PostProcessSteps& convert_layout(const Layout& dst_layout = {});
  PostProcessSteps& convert_layout(const std::vector<uint64_t>& dims);

  using CustomPostprocessOp = std::function<Output<Node>(const Output<Node>& node)>;
  PostProcessSteps& custom(const CustomPostprocessOp& postprocess_cb);
  /// Converts RGB and BGR to each other; needs OutputModelInfo::set_color_format and C in the layout.
  PostProcessSteps& convert_color(const ColorFormat& dst_format);

 private:
  friend class OutputInfo;
  explicit PostProcessSteps(detail::OutputPlan& plan) : plan_(&plan) {}
  detail::OutputPlan* plan_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
