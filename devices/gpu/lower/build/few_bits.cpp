// SPDX-License-Identifier: Apache-2.0
// Reads weights of few bits out of the graph.
#include <tenon/devices/gpu/lower/build/few_bits.hpp>

#include <algorithm>

#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

bool has_few_bits(ElementType type) {
  return type == ElementType::kU4 || type == ElementType::kI4 || type == ElementType::kNf4 ||
         type == ElementType::kU8 || type == ElementType::kI8;
}

Tensor constant_of(const Node& node, std::size_t input) {
  const auto* constant = as_type<op::v0::Constant>(node.get_input_node_ptr(input));
  return constant ? constant->get_tensor() : Tensor();
}

/// Whether there is one number for each group of each row, for each row, or for all.
bool is_by_group(const Tensor& values, const Shape& numbers) {
  if (!values || values.element_type() != ElementType::kF32 || values.shape().size() > numbers.size()) return false;
  const std::size_t missing = numbers.size() - values.shape().size();
  for (std::size_t axis = missing; axis < numbers.size(); ++axis) {
    const std::size_t extent = values.shape()[axis - missing];
    if (extent != 1 && (axis + 1 == numbers.size() || extent != numbers[axis])) return false;
  }
  return true;
}

bool is_narrow(const Output<Node>& value) {
  return value.get_element_type() == element::f16 || value.get_element_type() == element::bf16;
}

/// Such a value computed in f32. @return an empty output: it does not expand weights of few bits.
Output<Node> widened_weights(const Output<Node>& value) {
  const Node& node = *value.get_node();
  const auto as_f32 = [](const Output<Node>& from) {
    return make_node("Convert", 1, {from}, {{"destination_type", element::f32}})->output(0);
  };
  if (is_op(&node, "Convert"))
    return has_few_bits(node.get_input_element_type(0)) && is_op(node.get_input_node_ptr(0), "Constant")
               ? as_f32(node.input_value(0))
               : Output<Node>();
  const bool is_reshape = is_op(&node, "Reshape");
  if (!is_reshape && !is_op(&node, "Multiply") && !is_op(&node, "Subtract")) return {};
  OutputVector inputs = node.input_values();
  inputs[0] = widened_weights(inputs[0]);
  if (!inputs[0]) return {};
  if (!is_reshape) {
    const Output<Node> by_group = widened_weights(inputs[1]);
    inputs[1] = by_group ? by_group : as_f32(inputs[1]);
  }
  return node.clone_with_new_inputs(inputs)->output(0);
}

}  // namespace

pass::Pass widen_few_bits() {
  return {"widen_few_bits", [](Model& model) {
            bool changed = false;
            for (const auto& node : model.get_ordered_ops()) {
              if (!is_op(node, "Convert") || node->get_output_element_type(0) != element::f32 ||
                  !is_narrow(node->input_value(0)))
                continue;
              const Output<Node> wide = widened_weights(node->input_value(0));
              if (!wide) continue;
              pass::replace_node(node, wide);
              changed = true;
            }
            return changed;
          }};
}

std::optional<FewBits> few_bits_of(const Node& node) {
  constexpr std::size_t kRun = 8;
  const bool is_grouped = is_op(&node, "GroupedMatMul");
  if ((!is_grouped && !is_op(&node, "MatMul")) || node.get_output_element_type(0) != element::f32) return std::nullopt;
  const auto& attributes = node.get_attributes();
  const PartialShape &left = node.get_input_partial_shape(0), &right = node.get_input_partial_shape(1);
  if (left.rank().is_dynamic() || left.size() < 2 || right.is_dynamic()) return std::nullopt;
  if (!is_grouped &&
      (attributes.get_bool("transpose_a", false) || !attributes.get_bool("transpose_b", false) || right.size() != 2))
    return std::nullopt;
  Shape shape = right.to_shape();
  if (is_grouped) shape = {shape[0] * shape[1], shape[2]};  // All groups' matrices below each other.
  FewBits found;
  const Node* at = node.get_input_node_ptr(1);
  const auto step_into = [&](std::size_t input) {
    found.nodes.push_back(at);
    at = at->get_input_node_ptr(input);
  };
  while (is_op(at, "Reshape")) step_into(0);
  if (!is_op(at, "Multiply")) return std::nullopt;
  const std::size_t side = constant_of(*at, 0) ? 1 : 0;
  found.scales = constant_of(*at, 1 - side);
  step_into(side);
  if (is_op(at, "Subtract")) {
    found.zero_points = constant_of(*at, 1);
    if (!found.zero_points) return std::nullopt;
    step_into(0);
  }
  if (!is_op(at, "Convert") || at->get_output_element_type(0) != element::f32) return std::nullopt;
  found.numbers = constant_of(*at, 0);
  found.nodes.push_back(at);
  if (!found.numbers || !has_few_bits(found.numbers.element_type())) return std::nullopt;
  const Shape& numbers = found.numbers.shape();
  if ((numbers.size() != 2 && numbers.size() != 3) || numbers[0] != shape[0] ||
      element_count(numbers) != element_count(shape) || element_count(shape) == 0)
    return std::nullopt;
  if (numbers.size() == 3) found.groups = numbers[1];
  if (numbers.back() % kRun != 0 || shape[1] % (4 * kRun) != 0 || !is_by_group(found.scales, numbers) ||
      (found.zero_points && !is_by_group(found.zero_points, numbers)))
    return std::nullopt;
  return found;
}

std::set<const Node*> few_bits_expansions(const NodeVector& order) {
  std::set<const Node*> candidates, products;
  for (const auto& node : order) {
    const auto found = few_bits_of(*node);
    if (!found) continue;
    products.insert(node.get());
    candidates.insert(found->nodes.begin(), found->nodes.end());
  }
  std::set<const Node*> expansions;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node* const node = at->get();
    if (!candidates.count(node)) continue;
    const auto readers = node->get_output_target_inputs(0);
    const bool is_only = std::all_of(readers.begin(), readers.end(), [&](const Input<Node>& reader) {
      return expansions.count(reader.get_node()) > 0 ||
             (reader.get_index() == 1 && products.count(reader.get_node()) > 0);
    });
    if (is_only) expansions.insert(node);
  }
  return expansions;
}

}  // namespace tenon::inline v1::gpu_device
