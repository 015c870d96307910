// SPDX-License-Identifier: Apache-2.0
// The model's own output.
#pragma once

#include <string>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/layout.hpp"
#include "openvino/core/preprocess/color_format.hpp"

namespace ov {
namespace preprocess {

/// The model's own output. Errors come from PrePostProcessor::build(), as AssertFailure, unless noted otherwise.
class OPENVINO_API OutputModelInfo final {
 public:
  OutputModelInfo(const OutputModelInfo&) = delete;
  OutputModelInfo& operator=(const OutputModelInfo&) = delete;

  OutputModelInfo& set_layout(const Layout& layout);
  OutputModelInfo& set_color_format(const ColorFormat& format, const std::vector<std::string>& sub_names = {});

 private:
  friend class OutputInfo;
  explicit OutputModelInfo(void* there) : there_(there) {}
  void* there_;  ///< Tenon's.
};

}  // namespace preprocess
}  // namespace ov
