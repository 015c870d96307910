// SPDX-License-Identifier: Apache-2.0
// Properties of a model's own input.
#pragma once

#include <tenon/core/export.hpp>
#include <tenon/graph/layout.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
struct InputPlan;
}

class TENON_API InputModelInfo final {
 public:
  InputModelInfo(const InputModelInfo&) = delete;
  InputModelInfo& operator=(const InputModelInfo&) = delete;

  /// Layout of the model's input, if the model does not declare it. The steps end with a conversion to it.
  InputModelInfo& set_layout(const Layout& layout);

 private:
  friend class InputInfo;
  explicit InputModelInfo(detail::InputPlan& plan) : plan_(&plan) {}
  detail::InputPlan* plan_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
