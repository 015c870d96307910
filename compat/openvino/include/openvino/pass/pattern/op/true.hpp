// SPDX-License-Identifier: Apache-2.0
// Matches anything.
#pragma once

#include <memory>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
class OPENVINO_API True : public Pattern {
 public:
  OPENVINO_RTTI("patternTrue")
  True() = default;
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;
};
}  // namespace op
}  // namespace pattern
}  // namespace pass
}  // namespace ov
