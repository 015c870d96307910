// SPDX-License-Identifier: Apache-2.0
// Any output of a node.
#pragma once

#include <memory>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
class OPENVINO_API AnyOutput : public Pattern {
 public:
  OPENVINO_RTTI("patternAnyOutput")
  AnyOutput(const std::shared_ptr<Node>& pattern) : Pattern(OutputVector{pattern->output(0)}) {}
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;
};
}  // namespace op
}  // namespace pattern
}  // namespace pass
}  // namespace ov
