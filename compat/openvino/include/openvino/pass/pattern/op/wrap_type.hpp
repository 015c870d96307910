// SPDX-License-Identifier: Apache-2.0
// A node of one of several classes, with inputs and a condition.
#pragma once

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "openvino/core/node.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/pass/pattern/op/op.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
/// Without inputs: whatever the node's are.
class OPENVINO_API WrapType : public Pattern {
 public:
  OPENVINO_RTTI("WrapType")
  explicit WrapType(const std::vector<NodeTypeInfo>& wrapped_types) : m_wrapped_types(wrapped_types) {}
  template <typename T>
  WrapType(const std::vector<NodeTypeInfo>& wrapped_types, const T& pred, const OutputVector& input_values = {})
      : Pattern(input_values, Predicate(pred)), m_wrapped_types(wrapped_types) {}
  explicit WrapType(NodeTypeInfo wrapped_type) : m_wrapped_types({wrapped_type}) {}
  template <typename T>
  WrapType(NodeTypeInfo wrapped_type, const T& pred, const OutputVector& input_values = {})
      : Pattern(input_values, Predicate(pred)), m_wrapped_types({wrapped_type}) {}
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;
  std::ostream& write_type_description(std::ostream& out) const override;
  /// @errors Exception: there are several.
  NodeTypeInfo get_wrapped_type() const;
  const std::vector<NodeTypeInfo>& get_wrapped_types() const { return m_wrapped_types; }

 private:
  std::vector<NodeTypeInfo> m_wrapped_types;
};
}  // namespace op
template <class... Args>
void collect_wrap_info(std::vector<DiscreteTypeInfo>& info) {
  (info.push_back(Args::get_type_info_static()), ...);
}
template <class... Args, typename T, std::enable_if_t<std::is_constructible_v<op::Predicate, T>>* = nullptr>
std::shared_ptr<Node> wrap_type(const PatternOps& inputs, const T& pred, const Attributes& attrs = {}) {
  std::vector<DiscreteTypeInfo> info;
  collect_wrap_info<Args...>(info);
  return std::make_shared<op::WrapType>(
      info, attrs.empty() ? op::Predicate(pred) : attrs_match(attrs) && op::Predicate(pred), OutputVector(inputs));
}
template <
    class... Args, typename T,
    std::enable_if_t<std::is_constructible_v<op::Predicate, T> && !std::is_constructible_v<PatternOps, T>>* = nullptr>
std::shared_ptr<Node> wrap_type(const T& pred, const Attributes& attrs = {}) {
  return wrap_type<Args...>(PatternOps{}, op::Predicate(pred), attrs);
}
template <class... Args>
std::shared_ptr<Node> wrap_type(const PatternOps& inputs = {}, const Attributes& attrs = {}) {
  return wrap_type<Args...>(inputs, attrs.empty() ? op::Predicate() : attrs_match(attrs));
}
template <class... Args>
std::shared_ptr<Node> wrap_type(std::initializer_list<std::pair<const std::string, ov::Any>>&& attrs) {
  return wrap_type<Args...>(PatternOps{}, Attributes(attrs));
}
/// A Constant.
OPENVINO_API std::shared_ptr<Node> wrap_const();
}  // namespace pattern
}  // namespace pass
}  // namespace ov
