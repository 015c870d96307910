// SPDX-License-Identifier: Apache-2.0
// A node that may be missing: then its first input stands in its place.
#pragma once

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/op.hpp"
#include "openvino/pass/pattern/op/pattern.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
class OPENVINO_API Optional : public Pattern {
 public:
  OPENVINO_RTTI("patternOptional")
  Optional(const std::vector<DiscreteTypeInfo>& type_infos, const OutputVector& inputs = {})
      : Pattern(inputs), optional_types(type_infos) {}
  template <typename T>
  Optional(const std::vector<DiscreteTypeInfo>& type_infos, const OutputVector& inputs, const T& pred)
      : Pattern(inputs, Predicate(pred)), optional_types(type_infos) {}
  bool match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) override;
  std::vector<DiscreteTypeInfo> get_optional_types() const { return optional_types; }

 protected:
  std::vector<DiscreteTypeInfo> optional_types;
};
}  // namespace op
template <class... NodeTypes>
void collect_type_info(std::vector<DiscreteTypeInfo>& type_info_vec) {
  (type_info_vec.push_back(NodeTypes::get_type_info_static()), ...);
}
template <class... NodeTypes, typename T, std::enable_if_t<std::is_constructible_v<op::Predicate, T>>* = nullptr>
std::shared_ptr<Node> optional(const PatternOps& inputs, const T& pred, const Attributes& attrs = {}) {
  std::vector<DiscreteTypeInfo> types;
  collect_type_info<NodeTypes...>(types);
  return std::make_shared<op::Optional>(
      types, OutputVector(inputs), attrs.empty() ? op::Predicate(pred) : attrs_match(attrs) && op::Predicate(pred));
}
template <
    class... NodeTypes, typename T,
    std::enable_if_t<std::is_constructible_v<op::Predicate, T> && !std::is_constructible_v<PatternOps, T>>* = nullptr>
std::shared_ptr<Node> optional(const T& pred, const Attributes& attrs = {}) {
  return optional<NodeTypes...>(PatternOps{}, op::Predicate(pred), attrs);
}
template <class... NodeTypes>
std::shared_ptr<Node> optional(const PatternOps& inputs = {}, const Attributes& attrs = {}) {
  return optional<NodeTypes...>(inputs, attrs.empty() ? op::Predicate() : attrs_match(attrs));
}
template <class... NodeTypes>
std::shared_ptr<Node> optional(std::initializer_list<std::pair<const std::string, ov::Any>>&& attrs) {
  return optional<NodeTypes...>(PatternOps{}, Attributes(attrs));
}
}  // namespace pattern
}  // namespace pass
}  // namespace ov
