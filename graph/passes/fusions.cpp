// SPDX-License-Identifier: Apache-2.0
// Several nodes into one: batch norm, Swish, Gelu.
#include <algorithm>
#include <cmath>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/ops/kernel_internal.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
/// Runs `change` on every node; several passes over the model are left to the caller.
template <typename F>
Pass for_each_node(const char* name, F change) {
  return {name, [change](Model& model) {
            bool changed = false;
            for (const auto& node : model.get_ordered_ops()) changed |= change(node);
            return changed;
          }};
}

std::vector<double> values_of(const op::v0::Constant& constant) { return constant.to_doubles(); }

/// Weights times one factor per output channel, in the element type that the convolution reads.
Output<Node> scaled_weights(const Node& convolution, const std::vector<double>& scale) {
  const auto weights = constant_input(convolution, 1);
  const Shape& shape = weights->get_tensor().shape();
  const bool grouped = is_op(&convolution, "GroupConvolution");
  std::vector<double> values = weights->to_doubles();
  // [O, ...] or [G, O/G, ...]: the leading axes together are the output channels.
  const std::size_t channels = grouped ? shape[0] * shape[1] : shape[0];
  const std::size_t each = channels ? values.size() / channels : 0;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= scale[i / each];
  auto constant = std::make_shared<op::v0::Constant>(convolution.get_input_element_type(1), shape, values);
  constant->set_friendly_name(weights->get_friendly_name());
  return constant->output(0);
}

bool fold_one_batch_norm(const std::shared_ptr<Node>& node) {
  if (!is_op(node, "BatchNormInference")) return false;
  const bool first = node->operation().opset < 5;
  const std::size_t data = first ? 2 : 0, gamma = first ? 0 : 1, beta = first ? 1 : 2;
  const PartialShape& shape = node->get_input_partial_shape(data);
  if (shape.rank().is_dynamic()) return false;
  std::vector<double> parameters[4];
  const std::size_t order[4] = {gamma, beta, 3, 4};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto constant = constant_input(*node, order[i]);
    if (!constant) return false;
    parameters[i] = values_of(*constant);
  }
  const double epsilon = node->get_attributes().get_double("epsilon");
  const std::size_t channels = parameters[0].size();
  std::vector<double> scale(channels), shift(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    scale[c] = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
    shift[c] = parameters[1][c] - parameters[2][c] * scale[c];
  }
  Shape per_channel(shape.size(), 1);
  per_channel[1] = channels;
  const element::Type type = node->get_output_element_type(0);
  const std::string name = node->get_friendly_name();
  const Output<Node> source = node->input_value(data);
  std::shared_ptr<Node> product;
  const bool convolves = is_op(source.get_node(), "Convolution") || is_op(source.get_node(), "GroupConvolution");
  if (convolves && constant_input(*source.get_node(), 1) && only_user(*source.get_node())) {
    product = source.get_node()->clone_with_new_inputs(
        {source.get_node()->input_value(0), scaled_weights(*source.get_node(), scale)});
  } else {
    product = std::make_shared<op::v1::Multiply>(source, std::make_shared<op::v0::Constant>(type, per_channel, scale));
    product->set_friendly_name(name + "/scale");
  }
  const auto sum = std::make_shared<op::v1::Add>(product, std::make_shared<op::v0::Constant>(type, per_channel, shift));
  sum->set_friendly_name(name);
  replace_node(node, sum->output(0));
  return true;
}

bool fuse_one_swish(const std::shared_ptr<Node>& node) {
  if (!is_op(node, "Multiply")) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto sigmoid = node->get_input_node_shared_ptr(i);
    if (!is_op(sigmoid, "Sigmoid") || !(sigmoid->input_value(0) == node->input_value(1 - i))) continue;
    replace_node(node, make_node("Swish", 4, {node->input_value(1 - i)}, {}, node->get_friendly_name())->output(0));
    return true;
  }
  return false;
}

bool near(double a, double b) { return std::abs(a - b) <= 2e-3 * std::abs(b); }

/// 1 + Erf(x / sqrt(2)): gives x.
bool match_erf_plus_one(const Node* add, Output<Node>& x) {
  double value = 0;
  if (!is_op(add, "Add")) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!scalar_input(*add, i, value) || !near(value, 1)) continue;
    const Node* erf = add->get_input_node_ptr(1 - i);
    if (!is_op(erf, "Erf")) return false;
    const Node* scaled = erf->get_input_node_ptr(0);
    if (is_op(scaled, "Divide") && scalar_input(*scaled, 1, value) && near(value, std::sqrt(2.0))) {
      x = scaled->input_value(0);
      return true;
    }
    for (std::size_t k = 0; k < 2 && is_op(scaled, "Multiply"); ++k) {
      if (!scalar_input(*scaled, k, value) || !near(value, std::sqrt(0.5))) continue;
      x = scaled->input_value(1 - k);
      return true;
    }
  }
  return false;
}

/// Factors of a tree of products whose inner nodes have no other reader.
void collect_factors(const Output<Node>& value, bool root, std::vector<Output<Node>>& factors) {
  const Node* node = value.get_node();
  if (factors.size() < 4 && is_op(node, "Multiply") && (root || only_user(*node))) {
    collect_factors(node->input_value(0), false, factors);
    collect_factors(node->input_value(1), false, factors);
  } else {
    factors.push_back(value);
  }
}

bool fuse_one_gelu(const std::shared_ptr<Node>& node) {
  if (!is_op(node, "Multiply")) return false;
  std::vector<Output<Node>> factors;
  collect_factors(node->output(0), true, factors);
  if (factors.size() != 3) return false;
  std::sort(factors.begin(), factors.end());
  do {
    Output<Node> x;
    const auto* half = as_type<op::v0::Constant>(factors[0].get_node());
    if (!half || half->get_tensor().element_count() != 1 || !near(half->to_doubles()[0], 0.5)) continue;
    if (!match_erf_plus_one(factors[1].get_node(), x) || !(x == factors[2])) continue;
    // A half of higher rank would have broadcast the result.
    if (!(node->get_output_partial_shape(0) == x.get_partial_shape())) continue;
    replace_node(node,
                 make_node("Gelu", 7, {x}, {{"approximation_mode", "ERF"}}, node->get_friendly_name())->output(0));
    return true;
  } while (std::next_permutation(factors.begin(), factors.end()));
  return false;
}
}  // namespace

Pass fold_batch_norm() { return for_each_node("fold_batch_norm", fold_one_batch_norm); }
Pass fuse_swish() { return for_each_node("fuse_swish", fuse_one_swish); }
Pass fuse_gelu() { return for_each_node("fuse_gelu", fuse_one_gelu); }

}  // namespace pass
}  // namespace v1
}  // namespace tenon
