// SPDX-License-Identifier: Apache-2.0
// Norms by the root of the mean square, as the nodes that exporters write.
#include <tenon/engine/lower/reductions/rms_norm.hpp>

#include <algorithm>

#include <tenon/engine/kernels/reductions/rms_norm.hpp>
#include <tenon/engine/lower/build/precise.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/strides.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {
namespace {

using NodePointer = std::shared_ptr<Node>;

bool is_number(PlanBuilder& builder, const NodePointer& node, std::size_t index, float wanted) {
  const Tensor tensor = builder.constant_input(node, index);
  return tensor && tensor.element_type() == ElementType::kF32 && tensor.element_count() == 1 &&
         *tensor.data<float>() == wanted;
}

/// mean(x^2) + epsilon, of which the root is taken; the nodes nearest to the root first.
bool match_mean_square(PlanBuilder& builder, const NodePointer& sum, RmsNormMatch& found) {
  if (!is_op(sum, "Add") || !pass::only_user(*sum)) return false;
  for (const std::size_t i : {0, 1}) {
    const Tensor epsilon = builder.constant_input(sum, 1 - i);
    const NodePointer mean = sum->get_input_node_shared_ptr(i);
    std::vector<std::int64_t> axes;
    if (!epsilon || epsilon.element_type() != ElementType::kF32 || epsilon.element_count() != 1 ||
        !is_op(mean, "ReduceMean") || !pass::only_user(*mean) || !mean->get_attributes().get_bool("keep_dims", false) ||
        !builder.constant_ints(mean, 1, axes))
      continue;
    const auto rank = static_cast<std::int64_t>(mean->get_input_shape(0).size());
    const NodePointer square = mean->get_input_node_shared_ptr(0);
    const bool is_square = (is_op(square, "Power") && is_number(builder, square, 1, 2)) ||
                           (is_op(square, "Multiply") && square->input_value(0) == square->input_value(1));
    // A product with itself has itself as both readers of x, but one reader of its own.
    if (axes.size() != 1 || (axes[0] != -1 && axes[0] != rank - 1) || !is_square || !pass::only_user(*square) ||
        square->input_value(0).get_shape() != square->get_output_shape(0))
      return false;
    found.epsilon = *epsilon.data<float>();
    found.x = square->input_value(0);
    for (const NodePointer& node : {sum, mean, square}) found.nodes.push_back(node);
    return true;
  }
  return false;
}

/// 1 / sqrt(s) or s^-0.5. @return s; nothing for others.
NodePointer match_inverse_root(PlanBuilder& builder, const NodePointer& node, RmsNormMatch& found) {
  if (!pass::only_user(*node)) return nullptr;
  if (is_op(node, "Power") && is_number(builder, node, 1, -0.5f)) {
    found.nodes.push_back(node);
    return node->get_input_node_shared_ptr(0);
  }
  if (!is_op(node, "Divide") || !is_number(builder, node, 0, 1)) return nullptr;
  const NodePointer root = node->get_input_node_shared_ptr(1);
  if (!is_op(root, "Sqrt") || !pass::only_user(*root)) return nullptr;
  found.nodes.push_back(node);
  found.nodes.push_back(root);
  return root->get_input_node_shared_ptr(0);
}

/// A product with constants that vary along the last axis alone, after `node`.
void take_weights(PlanBuilder& builder, const NodePointer& node, RmsNormMatch& found) {
  const NodePointer product = pass::only_user(*node);
  const Shape shape = node->get_output_shape(0);
  if (!product || !is_op(product, "Multiply") || product->get_output_shape(0) != shape) return;
  const Tensor weights = builder.constant_input(product, product->get_input_node_ptr(0) == node.get() ? 1 : 0);
  if (!weights || weights.element_type() != ElementType::kF32 || !weights.is_contiguous() ||
      weights.element_count() != shape.back() || weights.shape().empty() || weights.shape().back() != shape.back())
    return;
  found.weights = weights;
  found.nodes.push_back(product);
}

}  // namespace

std::optional<RmsNormMatch> match_rms_norm(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const bool is_product = is_op(node, "Multiply");
  if (!is_product && !is_op(node, "Divide")) return std::nullopt;
  if (node->get_output_element_type(0) != element::f32) return std::nullopt;
  const Shape shape = node->get_output_shape(0);
  for (const std::size_t i : {0, 1}) {
    RmsNormMatch found;
    found.nodes.push_back(node);
    const NodePointer divisor = node->get_input_node_shared_ptr(1 - i);
    NodePointer sum;
    if (is_product) {
      sum = match_inverse_root(builder, divisor, found);
    } else if (i == 0 && is_op(divisor, "Sqrt") && pass::only_user(*divisor)) {
      found.nodes.push_back(divisor);
      sum = divisor->get_input_node_shared_ptr(0);
    }
    if (!sum || !match_mean_square(builder, sum, found) || node->input_value(i) != found.x) continue;
    if (shape.empty() || element_count(shape) == 0 || found.x.get_shape() != shape) return std::nullopt;
    std::reverse(found.nodes.begin(), found.nodes.end());
    take_weights(builder, node, found);
    const auto precise = [](const auto& member) { return is_precise(*member); };
    if (builder.options().precision != ElementType::kF32 &&
        std::any_of(found.nodes.begin(), found.nodes.end(), precise))
      return std::nullopt;
    return found;
  }
  return std::nullopt;
}

bool lower_rms_norm(PlanBuilder& builder, const Chain& chain) {
  const auto divides = std::find_if(chain.nodes.rbegin(), chain.nodes.rend(),
                                    [&](const auto& node) { return match_rms_norm(builder, node).has_value(); });
  if (divides == chain.nodes.rend()) return false;
  const auto match = match_rms_norm(builder, *divides);
  if (match->nodes.size() != chain.nodes.size()) return false;
  Value& source = builder.value(match->x);
  Value& made = builder.value(chain.last()->output(0));
  kernels::RmsNorm what;
  what.columns = made.shape.back();
  what.rows = element_count(made.shape) / what.columns;
  what.epsilon = match->epsilon;
  // As it lies, if it is packed.
  const Value::Variant variant = builder.real(source);
  const ElementType lies_in = element_type(variant.desc);
  what.x_type = lies_in == ElementType::kBf16 ? lies_in : ElementType::kF32;
  what.out_type = result_type(builder, chain, builder.compute_type());
  const md desc = plain_desc(what.x_type, made.shape), result = plain_desc(what.out_type, made.shape);
  std::vector<BufferSlice> from{builder.in_layout(source, desc)};
  const bool has_weights = static_cast<bool>(match->weights);
  if (has_weights) from.push_back(builder.constant_place(match->weights));
  const BufferSlice to = builder.define(made, result);
  builder.add_kernel(chain.last(), "rms norm", from, {to}, [what, has_weights](std::span<void* const> p) {
    kernels::rms_norm(what, p[0], has_weights ? static_cast<const float*>(p[1]) : nullptr, p.back());
  });
  builder.note_joined(chain);
  return true;
}

}  // namespace tenon::inline v1::engine
