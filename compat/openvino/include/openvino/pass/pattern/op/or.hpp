// SPDX-License-Identifier: Apache-2.0
// One of several patterns, the first that matches.
#pragma once

#include <memory>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
class OPENVINO_API Or : public Pattern {
 public:
  OPENVINO_RTTI("patternOr")
  Or(const OutputVector& patterns) : Pattern(patterns) {}
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;
};
}  // namespace op
}  // namespace pattern
OPENVINO_API std::shared_ptr<Node> operator|(const Output<Node>& lhs, const Output<Node>& rhs);
OPENVINO_API std::shared_ptr<Node> operator|(const std::shared_ptr<Node>& lhs, const std::shared_ptr<Node>& rhs);
namespace pattern {}  // namespace pattern
}  // namespace pass
}  // namespace ov
