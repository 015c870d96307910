// SPDX-License-Identifier: Apache-2.0
// The model's own input.
#pragma once

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/layout.hpp"

namespace ov {
namespace preprocess {

/// The model's own input. Errors come from PrePostProcessor::build(), as AssertFailure, unless noted otherwise.
class OPENVINO_API InputModelInfo final {
 public:
  InputModelInfo(const InputModelInfo&) = delete;
  InputModelInfo& operator=(const InputModelInfo&) = delete;

  InputModelInfo& set_layout(const Layout& layout);

 private:
  friend class InputInfo;
  explicit InputModelInfo(void* there) : there_(there) {}
  void* there_;  ///< Tenon's.
};

}  // namespace preprocess
}  // namespace ov
