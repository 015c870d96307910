// SPDX-License-Identifier: Apache-2.0
// Properties of a model's own output.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/runtime/preprocess/color_format.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
struct OutputPlan;
}

class TENON_API OutputModelInfo final {
 public:
  OutputModelInfo(const OutputModelInfo&) = delete;
  OutputModelInfo& operator=(const OutputModelInfo&) = delete;

  OutputModelInfo& set_layout(const Layout& layout);
  /// @errors AssertFailure: as InputTensorInfo::set_color_format.
  OutputModelInfo& set_color_format(const ColorFormat& format, const std::vector<std::string>& sub_names = {});

 private:
  friend class OutputInfo;
  explicit OutputModelInfo(detail::OutputPlan& plan) : plan_(&plan) {}
  detail::OutputPlan* plan_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
