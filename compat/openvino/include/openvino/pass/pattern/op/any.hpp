// SPDX-License-Identifier: Apache-2.0
// A node of any class with the pattern's inputs.
#pragma once

#include <memory>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
class OPENVINO_API Any : public Pattern {
 public:
  OPENVINO_RTTI("patternAny")
  template <typename T>
  Any(const element::Type& type, const PartialShape& s, const T& pred, const OutputVector& wrapped_values)
      : Pattern(wrapped_values, Predicate(pred)) {
    set_output_type(0, type, s);
  }
  template <typename T>
  Any(const element::Type& type, const PartialShape& s, const T& pred, const NodeVector& wrapped_values)
      : Any(type, s, pred, as_output_vector(wrapped_values)) {}
  template <typename T>
  Any(const Output<Node>& node, const T& pred, const OutputVector& wrapped_values)
      : Any(node.get_element_type(), node.get_partial_shape(), pred, wrapped_values) {}
  template <typename T>
  Any(const Output<Node>& node, const T& pred, const NodeVector& wrapped_values)
      : Any(node, pred, as_output_vector(wrapped_values)) {}
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;
};
}  // namespace op
}  // namespace pattern
}  // namespace pass
}  // namespace ov
