// SPDX-License-Identifier: Apache-2.0
// Properties of the caller's output tensors.
#pragma once

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/layout.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
struct OutputPlan;
}

class TENON_API OutputTensorInfo final {
 public:
  OutputTensorInfo(const OutputTensorInfo&) = delete;
  OutputTensorInfo& operator=(const OutputTensorInfo&) = delete;

  /// The steps end with a conversion to these.
  OutputTensorInfo& set_element_type(const element::Type& type);
  OutputTensorInfo& set_layout(const Layout& layout);

 private:
  friend class OutputInfo;
  explicit OutputTensorInfo(detail::OutputPlan& plan) : plan_(&plan) {}
  detail::OutputPlan* plan_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
