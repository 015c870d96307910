// SPDX-License-Identifier: Apache-2.0
// Removal of nodes that change nothing.
#include <algorithm>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/passes/internal/pass.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
bool feeds_result(const Node& node) {
  const NodeVector users = node.get_users();
  return std::any_of(users.begin(), users.end(), [](const auto& user) { return is_op(user, "Result"); });
}

std::vector<std::int64_t> known_order(const Node& transpose) {
  const auto constant = constant_input(transpose, 1);
  if (!constant) return {};
  std::vector<std::int64_t> order = constant->to_integers();
  const Rank rank = transpose.get_input_partial_shape(0).rank();
  if (order.empty() && rank.is_static()) {
    for (std::int64_t axis = rank.get_length(); axis-- > 0;) order.push_back(axis);
  }
  return order;
}
bool is_identity(const std::vector<std::int64_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return !order.empty();
}

bool changes_nothing(const Node& node) {
  const std::string_view type = node.get_type_info().name;
  if (type == "Transpose") return is_identity(known_order(node));
  if (type == "Concat") return node.get_input_size() == 1;
  if (type == "Convert" || type == "ConvertLike")
    return node.get_input_element_type(0) == node.get_output_element_type(0) &&
           !node.get_output_element_type(0).is_dynamic();
  constexpr std::string_view by_shape[] = {"Reshape", "Squeeze", "Unsqueeze", "Pad", "Broadcast", "Tile"};
  if (std::find(std::begin(by_shape), std::end(by_shape), type) == std::end(by_shape)) return false;
  const PartialShape &in = node.get_input_partial_shape(0), &out = node.get_output_partial_shape(0);
  if (!in.is_static() || !(in == out)) return false;
  // Padding may add on one side what it takes from the other.
  if (type != "Pad") return true;
  const auto begin = constant_input(node, 1);
  if (!begin) return false;
  const auto values = begin->to_integers();
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; });
}

/// Takes a node out; its consumers read `source` instead. Names stay: the source's node takes the friendly name of an
/// output.
bool bypass(const std::shared_ptr<Node>& node, const Output<Node>& source) {
  const bool is_output = feeds_result(*node);
  const Node* from = source.get_node();
  // An input must not become an output under the same name, and a node of several readers keeps its own.
  if (is_output &&
      (is_op(from, "Parameter") || is_op(from, "Constant") || from->get_output_size() != 1 || !only_user(*from)))
    return false;
  node->output(0).replace(source);
  if (is_output) source.get_node()->set_friendly_name(node->get_friendly_name());
  return true;
}

bool eliminate(const std::shared_ptr<Node>& node) {
  if (!node->has_readers()) return false;
  if (changes_nothing(*node)) return bypass(node, node->input_value(0));
  const auto before = node->get_input_size() > 0 ? node->get_input_node_shared_ptr(0) : nullptr;
  if (is_op(node, "Transpose") && is_op(before, "Transpose")) {
    const auto first = known_order(*before), second = known_order(*node);
    if (first.empty() || first.size() != second.size()) return false;
    std::vector<std::int64_t> both;
    for (std::int64_t axis : second)
      both.push_back(
          first.at(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(first.size()) : axis)));
    return is_identity(both) && !feeds_result(*node) && bypass(node, before->input_value(0));
  }
  if (is_op(node, "Reshape") && (is_op(before, "Reshape") || is_op(before, "Squeeze") || is_op(before, "Unsqueeze")) &&
      only_user(*before) && node->get_output_partial_shape(0).is_static()) {
    const Shape shape = node->get_output_shape(0);
    const std::vector<std::int64_t> pattern(shape.begin(), shape.end());
    const auto constant = std::make_shared<op::v0::Constant>(element::i64, Shape{pattern.size()},
                                                             pattern.empty() ? std::vector<std::int64_t>{0} : pattern);
    const auto reshape = std::make_shared<op::v1::Reshape>(before->input_value(0), constant, false);
    reshape->set_friendly_name(node->get_friendly_name());
    replace_node(node, reshape->output(0));
    return true;
  }
  return false;
}
}  // namespace

Pass eliminate_no_ops() { return for_each_node("eliminate_no_ops", eliminate); }

}  // namespace pass
}  // namespace v1
}  // namespace tenon
