// SPDX-License-Identifier: Apache-2.0
// A place of a pattern with a name: what it matched is found under it.
#pragma once

#include <memory>
#include <type_traits>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
/// Matches what the condition and the pattern in it allow; the second time, only the same output again.
class OPENVINO_API Label : public Pattern {
 public:
  OPENVINO_RTTI("patternLabel")
  template <typename T, typename Args = OutputVector>
  Label(const element::Type& type, const PartialShape& s, const T& pred, const Args& wrapped_values = OutputVector{})
      : Pattern(OutputVector{wrap_values(wrapped_values)}, Predicate(pred)) {
    set_output_type(0, type, s);
  }
  template <typename T, typename Args = OutputVector>
  Label(const Output<Node>& value, const T& pred, const Args& wrapped_values = OutputVector{})
      : Label(value.get_element_type(), value.get_partial_shape(), pred, wrapped_values) {}
  explicit Label(const element::Type& type = element::dynamic, const PartialShape& s = PartialShape::dynamic())
      : Label(type, s, nullptr, OutputVector{}) {}
  explicit Label(const Output<Node>& value) : Label(value.get_element_type(), value.get_partial_shape()) {}
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;

 protected:
  static Output<Node> wrap_values(const OutputVector& wrapped_values);
  static Output<Node> wrap_values(const NodeVector& wrapped_values);
};
}  // namespace op
OPENVINO_API std::shared_ptr<Node> any_input(const Attributes& attrs = {});
template <typename T, std::enable_if_t<std::is_constructible_v<op::Predicate, T> &&
                                       !std::is_constructible_v<Attributes, T>>* = nullptr>
std::shared_ptr<Node> any_input(const T& pred) {
  return std::make_shared<op::Label>(element::dynamic, PartialShape::dynamic(), op::Predicate(pred));
}
}  // namespace pattern
}  // namespace pass
}  // namespace ov
