// SPDX-License-Identifier: Apache-2.0
#include <tenon/engine/lower/build/precise.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <unordered_set>
#include <vector>

#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {

bool names_places(std::string_view type, std::size_t index) {
  if (type == "NonMaxSuppression" || type == "TopK" || type == "NonZero") return true;
  if (type.find("ROI") != type.npos || type == "GridSample" || type.substr(0, 6) == "Gather") return index > 0;
  if (type == "DeformableConvolution") return index == 1;
  if (type == "GroupedMatMul") return index == 2;
  return type.substr(0, 7) == "Scatter" && (index == 1 || index == 3);
}

namespace {

bool contains(std::string_view type, std::string_view part) { return type.find(part) != type.npos; }

bool is_comparison(std::string_view type) {
  static const std::set<std::string_view> known{"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"};
  return known.count(type) > 0;
}

/// Whether the comparison only chooses between the value that it reads and something else, as an activation does.
bool is_activation(const Node& comparison, const Output<Node>& compared) {
  const auto readers = comparison.get_output_target_inputs(0);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const auto& reader) {
    const Node* select = reader.get_node();
    return is_op(select, "Select") && (select->input_value(1) == compared || select->input_value(2) == compared);
  });
}

/// How much of what makes a value is marked.
enum class Reach : std::uint8_t { kNothing, kToProduct, kWithProduct };

/// What is marked because the node reads input `index`.
Reach reach_of(const Node& node, std::size_t index) {
  static const std::set<std::string_view> known{"Sin",      "Cos",    "Tan",       "Floor", "Ceiling",         "Mod",
                                                "FloorMod", "Unique", "Bucketize", "Range", "CTCGreedyDecoder"};
  const std::string_view type = node.get_type_name();
  const auto decides = [](bool is_so) { return is_so ? Reach::kWithProduct : Reach::kNothing; };
  // What the offsets of a deformable convolution are added to is exact.
  if (type == "DeformableConvolution") return Reach::kNothing;
  if (names_places(type, index) || known.count(type) > 0) return Reach::kWithProduct;
  if (contains(type, "Nms") || contains(type, "Proposal") || type == "DetectionOutput") return Reach::kWithProduct;
  if (type == "Interpolate") return decides(index > 0);
  if (is_comparison(type)) return decides(!is_activation(node, node.input_value(index)));
  const ElementType to =
      node.get_output_size() > 0 ? static_cast<ElementType>(node.get_output_element_type(0)) : ElementType::kUndefined;
  if ((type != "Convert" && type != "ConvertLike") || to == ElementType::kUndefined || info(to).is_real)
    return Reach::kNothing;
  return to == ElementType::kBool || info(to).bits > 8 ? Reach::kWithProduct : Reach::kToProduct;
}

bool multiplies(std::string_view type) {
  return type == "MatMul" || type == "GroupedMatMul" || type == "Einsum" ||
         (contains(type, "Convolution") && type != "DeformableConvolution");
}

/// Whether the walk ends at the node, without it.
bool ends_walk(const Node& node) {
  const std::string_view type = node.get_type_name();
  return node.get_input_size() == 0 || type == "ReadValue" ||
         (contains(type, "Norm") && type != "BatchNormInference") || type == "MVN" || type == "LRN" ||
         contains(type, "Sequence") || contains(type, "Cell") || contains(type, "Attention") ||
         type == "DeformableConvolution" || dynamic_cast<const op::util::MultiSubGraphOp*>(&node);
}

/// Integers of at most 8 bits, or differences of two: bf16 holds them.
bool are_small_integers(const Node* node) {
  while (is_op(node, "Reshape") || is_op(node, "Transpose") || is_op(node, "Unsqueeze") || is_op(node, "Squeeze"))
    node = node->get_input_node_ptr(0);
  if (is_op(node, "Subtract")) {
    const Node *x = node->get_input_node_ptr(0), *y = node->get_input_node_ptr(1);
    return !is_op(x, "Subtract") && !is_op(y, "Subtract") && are_small_integers(x) && are_small_integers(y);
  }
  if (is_op(node, "Convert")) {
    const ElementType from = node->get_input_element_type(0);
    return !info(from).is_real && info(from).bits <= 8;
  }
  const auto* constant = as_type<op::v0::Constant>(node);
  if (!constant || constant->get_element_type() != element::f32 || !constant->get_tensor().is_contiguous())
    return false;
  const float* const values = constant->get_tensor().data<float>();
  return std::all_of(values, values + constant->get_tensor().element_count(),
                     [](float value) { return std::abs(value) <= 255 && value == std::trunc(value); });
}

}  // namespace

void mark_deciding_nodes(const Model& model) {
  struct Step {
    Node* reader;
    Node* node;
  };
  std::vector<Step> open;
  std::unordered_set<const Node*> seen;
  const auto follow = [&](Node& reader, std::size_t index) {
    if (reader.get_input_element_type(index) == element::f32)
      open.push_back({&reader, reader.get_input_node_ptr(index)});
  };
  const NodeVector order = model.get_ordered_ops();
  for (const Reach reach : {Reach::kWithProduct, Reach::kToProduct}) {
    for (const auto& node : order)
      for (std::size_t i = 0; i < node->get_input_size(); ++i)
        if (reach_of(*node, i) == reach) follow(*node, i);
    while (!open.empty()) {
      const auto [reader, node] = open.back();
      open.pop_back();
      if (ends_walk(*node)) continue;
      const bool ends = multiplies(node->get_type_name());
      // Its result is f32 since its reader is precise.
      if (ends && (reach == Reach::kToProduct || (are_small_integers(node->get_input_node_ptr(0)) &&
                                                  are_small_integers(node->get_input_node_ptr(1))))) {
        mark_precise(*reader);
        continue;
      }
      if (!seen.insert(node).second) continue;
      mark_precise(*node);
      for (std::size_t i = 0; !ends && i < node->get_input_size(); ++i) follow(*node, i);
    }
  }
}

}  // namespace tenon::inline v1::engine
