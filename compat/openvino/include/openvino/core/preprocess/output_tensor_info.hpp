// SPDX-License-Identifier: Apache-2.0
// The tensor that the caller gets.
#pragma once

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/layout.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {
namespace preprocess {

/// The tensor that the caller gets. Errors come from PrePostProcessor::build(), as AssertFailure, unless noted otherwise.
class OPENVINO_API OutputTensorInfo final {
 public:
  OutputTensorInfo(const OutputTensorInfo&) = delete;
  OutputTensorInfo& operator=(const OutputTensorInfo&) = delete;

  OutputTensorInfo& set_element_type(const element::Type& type);
  OutputTensorInfo& set_layout(const Layout& layout);

 private:
  friend class OutputInfo;
  explicit OutputTensorInfo(void* there) : there_(there) {}
  void* there_;  ///< Tenon's.
};

}  // namespace preprocess
}  // namespace ov
