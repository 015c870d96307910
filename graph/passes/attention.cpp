// SPDX-License-Identifier: Apache-2.0
// Fuses two products with a softmax between them to ScaledDotProductAttention.
#include <cmath>
#include <numeric>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/passes/internal/pass.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
bool flag(const Node& node, const char* name) { return node.get_attributes().get_bool(name, false); }

/// Keys [..., S, E] of an operand multiplied as [..., E, S]: swaps the last axes of the transposition that made it, or
/// adds one.
Output<Node> keys_of(const Output<Node>& transposed, std::size_t rank) {
  const Node* source = transposed.get_node();
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  Output<Node> from = transposed;
  if (is_op(source, "Transpose") && constant_input(*source, 1)) {
    const auto given = constant_input(*source, 1)->to_integers();
    if (given.size() == rank) {
      order = given;
      from = source->input_value(0);
    }
  }
  std::swap(order[rank - 1], order[rank - 2]);
  const auto axes = std::make_shared<op::v0::Constant>(element::i64, Shape{rank}, order);
  return make_node("Transpose", 1, {from, axes}, {}, source->get_friendly_name() + "/keys")->output(0);
}

/// Scores as queries and keys, and the operations on them before the softmax.
struct Scores {
  Node* product = nullptr;
  double scale = 1;
  Output<Node> mask;
};

bool match_scale(Node*& node, double& scale) {
  double value = 0;
  if (is_op(node, "Divide") && scalar_input(*node, 1, value) && value != 0) {
    scale = 1 / value;
    node = node->get_input_node_ptr(0);
    return true;
  }
  for (std::size_t i = 0; i < 2 && is_op(node, "Multiply"); ++i) {
    if (!scalar_input(*node, i, value)) continue;
    scale = value;
    node = node->get_input_node_ptr(1 - i);
    return true;
  }
  return false;
}

/// Removes the factor of an operand of the scores: exporters scale queries and keys by the square root each.
Output<Node> unscaled(const Output<Node>& side, double& scale) {
  Node* source = side.get_node();
  double own = 1;
  if (!match_scale(source, own)) return side;
  for (const Output<Node>& input : side.get_node()->input_values()) {
    if (input.get_node() != source || !(input.get_partial_shape() == side.get_partial_shape())) continue;
    scale *= own;
    return input;
  }
  return side;
}

bool match_scores(Node* node, Scores& scores) {
  if (is_op(node, "Add") && only_user(*node)) {
    for (std::size_t i = 0; i < 2 && !scores.product; ++i) {
      Node* inner = node->get_input_node_ptr(i);
      double scale = 1;
      if (only_user(*inner)) match_scale(inner, scale);
      if (!is_op(inner, "MatMul") || !(inner->get_output_partial_shape(0) == node->get_output_partial_shape(0)))
        continue;
      scores = {inner, scale, node->input_value(1 - i)};
    }
  } else {
    double scale = 1;
    if (only_user(*node)) match_scale(node, scale);
    scores = {node, scale, {}};
  }
  const Node* const product = scores.product;
  return product && is_op(product, "MatMul") && only_user(*product) && !flag(*product, "transpose_a");
}

/// The softmax that gives a node's weights. Exporters guard against fully masked rows with Select(IsNaN(s), 0, s); the
/// fused operation gives zeros for such rows too.
Node* softmax_of(Node* weights) {
  double other = 1;
  if (is_op(weights, "Select") && only_user(*weights) && scalar_input(*weights, 1, other) && other == 0) {
    Node* const test = weights->get_input_node_ptr(0);
    Node* const softmax = weights->get_input_node_ptr(2);
    const bool is_guard = is_op(test, "IsNaN") && test->get_input_node_ptr(0) == softmax && only_user(*test) &&
                          softmax->count_output_readers(0) == 2;
    return is_guard && is_op(softmax, "Softmax") ? softmax : nullptr;
  }
  return is_op(weights, "Softmax") && only_user(*weights) ? weights : nullptr;
}

/// Whether two extents are equal, or may be.
bool may_be_equal(const Dimension& a, const Dimension& b) {
  return a == b || ((a.is_dynamic() || b.is_dynamic()) && a.compatible(b));
}

/// @param moves  Extents need not be known.
bool fuse_one_attention(const std::shared_ptr<Node>& node, bool moves) {
  if (!is_op(node, "MatMul") || flag(*node, "transpose_a") || flag(*node, "transpose_b")) return false;
  const Node* const softmax = softmax_of(node->get_input_node_ptr(0));
  const PartialShape& shape = node->get_output_partial_shape(0);
  const auto is_known = [moves](const PartialShape& own) { return moves ? own.rank().is_static() : own.is_static(); };
  if (!softmax || !is_known(shape)) return false;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = softmax->get_attributes().get_int("axis");
  if (rank < 3 || (axis != -1 && axis != rank - 1)) return false;
  Scores scores;
  if (!match_scores(softmax->get_input_node_ptr(0), scores)) return false;
  const Output<Node> queries = unscaled(scores.product->input_value(0), scores.scale), values = node->input_value(1);
  Output<Node> keys = unscaled(scores.product->input_value(1), scores.scale);
  for (const auto& side : {queries, keys, values}) {
    const PartialShape& own = side.get_partial_shape();
    if (!is_known(own) || static_cast<std::int64_t>(own.size()) != rank || side.get_element_type() != element::f32)
      return false;
    // The operation does not support heads that share keys here.
    for (std::size_t i = 0; i + 2 < own.size(); ++i)
      if (!may_be_equal(own[i], shape[i])) return false;
  }
  if (scores.mask && (!is_known(scores.mask.get_partial_shape()) || scores.mask.get_element_type() != element::f32))
    return false;
  if (!flag(*scores.product, "transpose_b")) keys = keys_of(keys, static_cast<std::size_t>(rank));
  const auto constant = [](double value) {
    return std::make_shared<op::v0::Constant>(element::f32, Shape{}, std::vector<double>{value})->output(0);
  };
  const auto fused = make_node("ScaledDotProductAttention", 13,
                               {queries, keys, values, scores.mask ? scores.mask : constant(0), constant(scores.scale)},
                               {{"causal", false}}, node->get_friendly_name());
  replace_node(node, fused->output(0));
  return true;
}
}  // namespace

Pass fuse_attention() {
  return for_each_node("fuse_attention", [](const auto& node) { return fuse_one_attention(node, false); });
}
Pass fuse_moving_attention() {
  return for_each_node("fuse_moving_attention", [](const auto& node) { return fuse_one_attention(node, true); });
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
