// SPDX-License-Identifier: Apache-2.0
// Constant folding.
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
bool is_decompression(const Node& node) {
  if (!is_op(&node, "Convert") || !as_type<op::v0::Constant>(node.get_input_node_ptr(0))) return false;
  const ElementType from = node.get_input_element_type(0), to = node.get_output_element_type(0);
  return to == ElementType::kF32 && (from == ElementType::kF16 || from == ElementType::kBf16);
}

/// A part of scale * (Convert(Constant of 4 or 8 bits) - zero point), or FakeQuantize of a Constant. `parts`: those found among
/// earlier nodes in order, so that each node only checks its source.
bool is_dequantization(const Node& node, const std::unordered_set<const Node*>& parts) {
  const auto from_weight_only = [](const Node& convert) {
    if (!is_op(&convert, "Convert") || !as_type<op::v0::Constant>(convert.get_input_node_ptr(0))) return false;
    const ElementType from = convert.get_input_element_type(0);
    const bool is_few = from == ElementType::kI8 || from == ElementType::kU8 || from == ElementType::kI4 ||
                        from == ElementType::kU4 || from == ElementType::kNf4;
    if (convert.get_output_element_type(0) != element::f32 || !is_few) return false;
    // The zero point is converted too, and is not a weight.
    for (const auto& reader : convert.get_output_target_inputs(0))
      if (reader.get_index() != 0 || !(is_op(reader.get_node(), "Subtract") || is_op(reader.get_node(), "Multiply")))
        return false;
    return true;
  };
  if (is_op(&node, "FakeQuantize")) return as_type<op::v0::Constant>(node.get_input_node_ptr(0)) != nullptr;
  if (is_op(&node, "Multiply") || is_op(&node, "Subtract")) return parts.count(node.get_input_node_ptr(0)) > 0;
  return from_weight_only(node);
}

/// Values of all inputs, decompressed if necessary; empty if one is not constant.
std::vector<Tensor> constant_inputs(const Node& node) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const Node& source = *node.get_input_node_ptr(i);
    if (is_decompression(source)) {
      tensors.push_back(
          evaluate_node(source, {as_type<op::v0::Constant>(source.get_input_node_ptr(0))->get_tensor()}).at(0));
    } else if (const auto* constant = as_type<op::v0::Constant>(&source)) {
      tensors.push_back(constant->get_tensor());
    } else {
      return {};
    }
  }
  return tensors;
}

bool all_constant(const Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const Node& source = *node.get_input_node_ptr(i);
    if (!is_decompression(source) && !as_type<op::v0::Constant>(&source)) return false;
  }
  return node.get_input_size() > 0;
}

bool grows_too_much(const Node& node, std::size_t limit) {
  std::size_t in = 0, out = 0;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) in += node.get_input_tensor(i).size();
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    // Values may decide the extents, up to bounds.
    const PartialShape& shape = node.get_output_partial_shape(i);
    const ElementType type = node.get_output_element_type(i);
    const auto bytes = shape.rank().is_static() ? checked_size_bytes(type, shape.get_max_shape()) : std::nullopt;
    if (!bytes || *bytes > std::numeric_limits<std::size_t>::max() / 2 - out) return true;
    out += *bytes;
  }
  return out > limit && out > in;
}

void put_constants(const std::shared_ptr<Node>& node, const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto constant = std::make_shared<op::v0::Constant>(values[i]);
    // Several outputs become several constants: each has its own name.
    constant->set_friendly_name(node->get_friendly_name() + (values.size() > 1 ? "." + std::to_string(i) : ""));
    node->output(i).replace(constant->output(0));
  }
}

/// Replaces an If with a known condition by the nodes of the branch taken.
bool inline_branch(const std::shared_ptr<Node>& node) {
  const auto* branch = as_type<op::v8::If>(node.get());
  if (!branch) return false;
  const auto& condition = node->get_input_tensor(0).value();
  if (!condition || condition->element_type() != ElementType::kBool || condition->element_count() != 1) return false;
  const int taken = *condition->data<bool>() ? op::v8::If::THEN_BODY_INDEX : op::v8::If::ELSE_BODY_INDEX;
  const auto body = branch->get_function(static_cast<std::size_t>(taken))->clone();
  for (const auto& description : branch->get_input_descriptions(taken)) {
    body->get_parameters()[description->m_body_parameter_index]->output(0).replace(
        node->input_value(description->m_input_index));
  }
  body->validate_nodes_and_infer_types();
  for (const auto& description : branch->get_output_descriptions(taken)) {
    node->output(description->m_output_index)
        .replace(body->get_results()[description->m_body_value_index]->input_value(0));
  }
  return true;
}

// Longer loops are left for run time, when they can be cancelled.
constexpr std::int64_t kMaxFoldedIterations = 1024;

bool takes_long(const Node& node) {
  const auto* loop = as_type<op::util::SubGraphOp>(&node);
  return loop && (loop->get_num_iterations() < 0 || loop->get_num_iterations() > kMaxFoldedIterations);
}

bool fold(Model& model, const FoldOptions& options) {
  bool changed = false;
  std::unordered_set<const Node*> dequantization;
  for (const auto& node : model.get_ordered_ops()) {
    if (!node->operation().evaluate || !node->has_readers()) continue;
    if (const auto* outer = as_type<op::util::MultiSubGraphOp>(node.get())) {
      if (inline_branch(node)) {
        changed = true;
        continue;
      }
      for (const auto& body : outer->get_functions()) changed |= fold(*body, options);
      if (takes_long(*node)) continue;
    }
    if (is_decompression(*node) && options.keep_decompression) {
      node->get_rt_info()["decompression"] = true;
      continue;
    }
    if (options.keep_dequantization && is_dequantization(*node, dequantization)) {
      dequantization.insert(node.get());
      continue;
    }
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < node->get_output_size(); ++i) {
      if (const auto& value = node->get_output_tensor(i).value()) values.push_back(*value);
    }
    if (values.size() != node->get_output_size()) {
      values.clear();
      if (!all_constant(*node) || grows_too_much(*node, options.max_growth_bytes)) continue;
      if (options.check) options.check();
      values = evaluate_node(*node, constant_inputs(*node));
    }
    put_constants(node, values);
    changed = true;
  }
  return changed;
}
}  // namespace

Pass fold_constants(FoldOptions options) {
  return {"fold_constants", [options = std::move(options)](Model& model) { return fold(model, options); }};
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
