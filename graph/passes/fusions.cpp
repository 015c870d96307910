// SPDX-License-Identifier: Apache-2.0
// Fuses several nodes into one: batch norm, Swish, Gelu.
#include <algorithm>
#include <cmath>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/passes/internal/pass.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
std::vector<double> values_of(const op::v0::Constant& constant) { return constant.to_doubles(); }

/// Weights times one factor per output channel, in the element type of the convolution.
Output<Node> scaled_weights(const Node& convolution, const std::vector<double>& scale) {
  const auto weights = constant_input(convolution, 1);
  Tensor from = weights->get_tensor();
  if (!from.is_contiguous()) {
    Tensor packed;
    from.copy_to(packed);
    from = packed;
  }
  const Shape& shape = from.shape();
  const bool grouped = is_op(&convolution, "GroupConvolution");
  // The weights may be converted on the way.
  Tensor scaled(convolution.get_input_element_type(1), shape);
  // [O, ...] or [G, O/G, ...]: the leading axes together give the output channels.
  const std::size_t channels = grouped ? shape[0] * shape[1] : shape[0];
  const std::size_t each = channels ? from.element_count() / channels : 0, element = size_bytes(from.element_type());
  // One channel at a time: converting all at once would need twice the weights' memory.
  std::vector<double> values(each);
  for (std::size_t channel = 0; channel < channels && each; ++channel) {
    const auto* const begin = static_cast<const char*>(from.data()) + channel * each * element;
    load_elements(from.element_type(), begin, static_cast<std::ptrdiff_t>(element), each, values.data());
    for (double& value : values) value *= scale[channel];
    auto* const to = static_cast<char*>(scaled.data()) + channel * each * size_bytes(scaled.element_type());
    store_elements(scaled.element_type(), values.data(), each, to);
  }
  auto constant = std::make_shared<op::v0::Constant>(scaled);
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

/// Matches 1 + Erf(x / sqrt(2)); returns x.
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

/// Limit on product nodes examined: no pattern has more, and a product of a hundred thousand factors must not be
/// searched at each of its nodes, nor by recursion.
constexpr int kMostProducts = 6;

void collect_factors(const Output<Node>& value, bool root, std::vector<Output<Node>>& factors, int& products) {
  const Node* node = value.get_node();
  if (products < kMostProducts && is_op(node, "Multiply") && (root || only_user(*node))) {
    ++products;
    collect_factors(node->input_value(0), false, factors, products);
    collect_factors(node->input_value(1), false, factors, products);
  } else {
    factors.push_back(value);
  }
}

/// Factors of a tree of products whose inner nodes have no other reader.
std::vector<Output<Node>> factors_of(const Output<Node>& value, bool root) {
  std::vector<Output<Node>> factors;
  int products = 0;
  collect_factors(value, root, factors, products);
  return factors;
}

/// Matches Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)) + 1; returns x.
bool match_tanh_plus_one(const Node* add, Output<Node>& x) {
  double value = 0;
  if (!is_op(add, "Add")) return false;
  const std::size_t one = scalar_input(*add, 0, value) ? 0 : 1;
  if (!scalar_input(*add, one, value) || !near(value, 1)) return false;
  const Node* tanh = add->get_input_node_ptr(1 - one);
  if (!is_op(tanh, "Tanh")) return false;
  const Node* scaled = tanh->get_input_node_ptr(0);
  for (std::size_t i = 0; i < 2 && is_op(scaled, "Multiply"); ++i) {
    if (!scalar_input(*scaled, i, value) || !near(value, std::sqrt(2 / 3.14159265358979))) continue;
    const Node* sum = scaled->get_input_node_ptr(1 - i);
    for (std::size_t k = 0; k < 2 && is_op(sum, "Add"); ++k) {
      // 0.044715 times a cube, which may be a power or a product of three.
      x = sum->input_value(k);
      const std::vector<Output<Node>> factors = factors_of(sum->input_value(1 - k), false);
      int cubed = 0;
      bool weighted = false, other = false;
      for (const auto& factor : factors) {
        const auto* constant = as_type<op::v0::Constant>(factor.get_node());
        if (constant && constant->get_tensor().element_count() == 1 && near(constant->to_doubles()[0], 0.044715))
          weighted = true;
        else if (factor == x)
          ++cubed;
        else if (is_op(factor.get_node(), "Power") && factor.get_node()->input_value(0) == x &&
                 scalar_input(*factor.get_node(), 1, value) && near(value, 3))
          cubed += 3;
        else
          other = true;
      }
      if (weighted && cubed == 3 && !other) return true;
    }
  }
  return false;
}

/// 0.5 * x * (1 + f(x)): calls `match` for each order of the three factors and makes Gelu of the mode.
template <typename Match>
bool fuse_half_product(const std::shared_ptr<Node>& node, const char* mode, Match match) {
  if (!is_op(node, "Multiply")) return false;
  std::vector<Output<Node>> factors = factors_of(node->output(0), true);
  if (factors.size() != 3) return false;
  std::sort(factors.begin(), factors.end());
  do {
    Output<Node> x;
    const auto* half = as_type<op::v0::Constant>(factors[0].get_node());
    if (!half || half->get_tensor().element_count() != 1 || !near(half->to_doubles()[0], 0.5)) continue;
    if (!match(factors[1].get_node(), x) || !(x == factors[2])) continue;
    // A constant half of higher rank would have broadcast the result.
    if (!(node->get_output_partial_shape(0) == x.get_partial_shape())) continue;
    replace_node(node, make_node("Gelu", 7, {x}, {{"approximation_mode", mode}}, node->get_friendly_name())->output(0));
    return true;
  } while (std::next_permutation(factors.begin(), factors.end()));
  return false;
}

bool fuse_one_gelu(const std::shared_ptr<Node>& node) { return fuse_half_product(node, "ERF", match_erf_plus_one); }
bool fuse_one_gelu_tanh(const std::shared_ptr<Node>& node) {
  return fuse_half_product(node, "TANH", match_tanh_plus_one);
}

/// Matches a Maximum or Minimum (`type`) with a constant that does not enlarge its result; returns the other operand.
bool match_bound(const Node* node, std::string_view type, double& bound, Output<Node>& x) {
  for (std::size_t i = 0; i < 2 && is_op(node, type); ++i) {
    if (!scalar_input(*node, i, bound)) continue;
    x = node->input_value(1 - i);
    return node->get_output_element_type(0) == element::f32 &&
           node->get_output_partial_shape(0) == x.get_partial_shape();
  }
  return false;
}

bool fuse_one_clamp(const std::shared_ptr<Node>& node) {
  double low = 0, high = 0;
  Output<Node> inner, x;
  const bool min_last = match_bound(node.get(), "Minimum", high, inner);
  if (min_last ? match_bound(inner.get_node(), "Maximum", low, x)
               : match_bound(node.get(), "Maximum", low, inner) && match_bound(inner.get_node(), "Minimum", high, x)) {
    if (!(low <= high) || !only_user(*inner.get_node())) return false;
    replace_node(node, make_node("Clamp", 1, {x}, {{"min", low}, {"max", high}}, node->get_friendly_name())->output(0));
    return true;
  }
  // Only if no Minimum follows, which would match both.
  if (!match_bound(node.get(), "Maximum", low, x) || low != 0) return false;
  if (const auto user = only_user(*node); user && is_op(user, "Minimum")) return false;
  replace_node(node, make_node("Relu", 1, {x}, {}, node->get_friendly_name())->output(0));
  return true;
}

/// Matches Clamp(x + 3, 0, 6); returns x.
bool match_relu6_of_plus_three(const Node* clamp, Output<Node>& x) {
  double value = 0;
  if (!is_op(clamp, "Clamp") || clamp->get_attributes().get_double("min") != 0 ||
      clamp->get_attributes().get_double("max") != 6)
    return false;
  const Node* add = clamp->get_input_node_ptr(0);
  for (std::size_t i = 0; i < 2 && is_op(add, "Add"); ++i) {
    if (!scalar_input(*add, i, value) || !near(value, 3)) continue;
    x = add->input_value(1 - i);
    return true;
  }
  return false;
}

/// x * Clamp(x + 3, 0, 6), then / 6; or x * (Clamp(x + 3, 0, 6) / 6).
bool fuse_one_hswish(const std::shared_ptr<Node>& node) {
  double value = 0;
  std::vector<Output<Node>> factors;
  double scale = 1;
  int products = 0;
  const auto collect = [&](const auto& self, const Output<Node>& at, bool root) -> void {
    const Node* inner = at.get_node();
    const bool mine = (root || only_user(*inner)) && ++products <= kMostProducts;
    if (mine && is_op(inner, "Divide") && scalar_input(*inner, 1, value)) {
      scale /= value;
      self(self, inner->input_value(0), false);
    } else if (mine && is_op(inner, "Multiply")) {
      for (std::size_t i = 0; i < 2; ++i) {
        if (scalar_input(*inner, i, value))
          scale *= value;
        else
          self(self, inner->input_value(i), false);
      }
    } else {
      factors.push_back(at);
    }
  };
  if (!is_op(node, "Multiply") && !is_op(node, "Divide")) return false;
  collect(collect, node->output(0), true);
  if (factors.size() != 2 || !near(scale, 1.0 / 6)) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    Output<Node> x;
    if (!match_relu6_of_plus_three(factors[i].get_node(), x) || !(x == factors[1 - i])) continue;
    if (!(node->get_output_partial_shape(0) == x.get_partial_shape())) continue;
    replace_node(node, make_node("HSwish", 4, {x}, {}, node->get_friendly_name())->output(0));
    return true;
  }
  return false;
}
}  // namespace

Pass fold_batch_norm() { return for_each_node("fold_batch_norm", fold_one_batch_norm); }
Pass fuse_swish() { return for_each_node("fuse_swish", fuse_one_swish); }
Pass fuse_gelu_tanh() { return for_each_node("fuse_gelu_tanh", fuse_one_gelu_tanh); }
Pass fuse_clamp() { return for_each_node("fuse_clamp", fuse_one_clamp); }
Pass fuse_hswish() { return for_each_node("fuse_hswish", fuse_one_hswish); }
Pass fuse_gelu() { return for_each_node("fuse_gelu", fuse_one_gelu); }

}  // namespace pass
}  // namespace v1
}  // namespace tenon
