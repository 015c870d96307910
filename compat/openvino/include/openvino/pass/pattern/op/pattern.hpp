// SPDX-License-Identifier: Apache-2.0
// The nodes that patterns are made of besides operations, and conditions with a name.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "openvino/core/node.hpp"
#include "openvino/pass/pattern/op/predicate.hpp"

namespace ov {
namespace pass {
namespace pattern {
namespace op {
class Label;
}
class Matcher;
class MatcherState;

using RPatternValueMap = std::map<std::shared_ptr<Node>, OutputVector>;
using PatternValueMap = std::map<std::shared_ptr<Node>, Output<Node>>;
using PatternValueMaps = std::vector<PatternValueMap>;
using PatternMap = std::map<std::shared_ptr<Node>, std::shared_ptr<Node>>;
/// Values that attributes must have, under their names in files.
using Attributes = std::unordered_map<std::string, ov::Any>;
OPENVINO_API PatternMap as_pattern_map(const PatternValueMap& pattern_value_map);
OPENVINO_API PatternValueMap as_pattern_value_map(const PatternMap& pattern_map);

template <typename T>
op::Predicate has_class() {
  return op::Predicate([](const std::shared_ptr<Node>& node) { return is_type<T>(node); },
                       std::string("has_class<") + typeid(T).name() + ">()");
}
template <typename T>
op::Predicate class_other_than() {
  return op::Predicate([](const std::shared_ptr<Node>& node) { return !is_type<T>(node); },
                       std::string("class_other_than<") + typeid(T).name() + ">()");
}
OPENVINO_API op::Predicate consumers_count(std::size_t n);
OPENVINO_API op::Predicate consumers_more_than(std::size_t n);
OPENVINO_API op::Predicate has_static_dim(std::size_t pos);
OPENVINO_API op::Predicate has_static_dims(const std::vector<std::size_t>& dims);
OPENVINO_API op::Predicate has_static_shape();
OPENVINO_API op::Predicate has_static_rank();
OPENVINO_API op::Predicate rank_equals(const Dimension& expected_rank);
OPENVINO_API op::Predicate rank_more_than(const Dimension& expected_rank);
OPENVINO_API op::Predicate type_matches(const element::Type& type);
OPENVINO_API op::Predicate type_matches_any(const std::vector<element::Type>& types);
OPENVINO_API op::Predicate all_of(const std::vector<std::function<bool(Output<Node>)>>& predicates);
OPENVINO_API op::Predicate attrs_match(const Attributes& expected_attrs);
OPENVINO_API op::Predicate output_index_matches(std::size_t expected_index);
OPENVINO_API op::Predicate output_index_matches(const std::vector<std::size_t>& expected_indices);
/// "[N, 3, H, H]": an extent of any size is ?, a number is itself, and a name is the same number wherever the pattern has it; A... stands for
/// any number of extents, which it names, and ... for any that it does not. Names stand for known extents only. "?" alone: of unknown rank.
/// @errors Exception: two parts of the text stand for several.
OPENVINO_API op::Predicate shape_matches(const std::string& shape_notation);
/// The same over the values of a Constant.
OPENVINO_API op::Predicate value_matches(const std::string& value_notation);

namespace op {
/// Matches; it is not part of a model. @errors Exception: a model is made of it.
class OPENVINO_API Pattern : public Node {
 public:
  OPENVINO_RTTI("Pattern", "util")
  Pattern();
  explicit Pattern(const OutputVector& patterns);
  explicit Pattern(const NodeVector& patterns);
  Pattern(const OutputVector& patterns, const Predicate& pred);
  Pattern(const NodeVector& patterns, const Predicate& pred);
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;
  void validate_and_infer_types() override {}
  std::ostream& write_description(std::ostream& out, std::uint32_t depth) const override;
  virtual std::ostream& write_type_description(std::ostream& out) const;

 protected:
  Predicate m_predicate;
};
}  // namespace op
}  // namespace pattern
}  // namespace pass
}  // namespace ov
