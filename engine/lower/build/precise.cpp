// SPDX-License-Identifier: Apache-2.0
#include <tenon/engine/lower/build/precise.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>
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
  if (type == "Result") return decides(is_precise(node));  // That of a body, whose node's output decides.
  if (contains(type, "Nms") || contains(type, "Proposal") || type == "DetectionOutput") return Reach::kWithProduct;
  if (type == "Interpolate") return decides(index > 0);
  if (type == "FakeQuantize") return index == 0 ? Reach::kToProduct : Reach::kNothing;
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
         type == "DeformableConvolution";
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

/// A node that reads, and by which input.
struct Use {
  Node* reader;
  std::size_t index;
};
using ValueKey = std::pair<const Node*, std::size_t>;
/// For a body's parameter what feeds it, and for an output of the node with the body the body's results.
using Borders = std::map<ValueKey, std::vector<Use>>;

/// Adds the nodes of the model and of all bodies in it.
void collect(const Model& model, NodeVector& order, Borders& borders) {
  for (const auto& node : model.get_ordered_ops()) {
    order.push_back(node);
    const auto* flow = dynamic_cast<const op::util::MultiSubGraphOp*>(node.get());
    for (std::size_t i = 0; flow && i < flow->get_internal_subgraphs_size(); ++i) {
      const Model& body = *flow->get_function(i);
      const auto result = [&](std::uint64_t index) { return Use{body.get_results().at(index).get(), 0}; };
      for (const auto& input : flow->get_input_descriptions(static_cast<int>(i))) {
        auto& sources = borders[{body.get_parameters().at(input->m_body_parameter_index).get(), 0}];
        sources.push_back({node.get(), input->m_input_index});
        if (const auto* merged = dynamic_cast<const op::util::MultiSubGraphOp::MergedInputDescription*>(input.get()))
          sources.push_back(result(merged->m_body_value_index));
      }
      for (const auto& output : flow->get_output_descriptions(static_cast<int>(i)))
        borders[{node.get(), output->m_output_index}].push_back(result(output->m_body_value_index));
      collect(body, order, borders);
    }
  }
}

}  // namespace

void mark_deciding_nodes(const Model& model) {
  NodeVector order;
  Borders borders;
  collect(model, order, borders);
  std::vector<Use> open;
  std::unordered_set<const Node*> seen;
  std::set<ValueKey> crossed;
  const auto follow = [&](const Use& use) {
    if (use.reader->get_input_element_type(use.index) == element::f32) open.push_back(use);
  };
  for (const Reach reach : {Reach::kWithProduct, Reach::kToProduct}) {
    for (const auto& node : order)
      for (std::size_t i = 0; i < node->get_input_size(); ++i)
        if (reach_of(*node, i) == reach) follow({node.get(), i});
    while (!open.empty()) {
      const auto [reader, index] = open.back();
      open.pop_back();
      const Output<Node> value = reader->input_value(index);
      Node* const node = value.get_node();
      if (const auto border = borders.find({node, value.get_index()}); border != borders.end()) {
        if (!crossed.insert(border->first).second) continue;
        for (const Use& use : border->second) {
          mark_precise(*use.reader);  // Passes over the body keep its results, and may replace what makes them.
          follow(use);
        }
        continue;
      }
      if (ends_walk(*node)) continue;
      const bool ends = multiplies(node->get_type_name());
      // Its result is f32 since its reader is precise.
      if (ends && !is_op(reader, "Result") &&
          (reach == Reach::kToProduct ||
           (are_small_integers(node->get_input_node_ptr(0)) && are_small_integers(node->get_input_node_ptr(1))))) {
        mark_precise(*reader);
        continue;
      }
      if (!seen.insert(node).second) continue;
      mark_precise(*node);
      for (std::size_t i = 0; !ends && i < node->get_input_size(); ++i) follow({node, i});
    }
  }
}

}  // namespace tenon::inline v1::engine
