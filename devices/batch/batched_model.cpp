// SPDX-License-Identifier: Apache-2.0
// From the model of one item to that of a batch.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <tenon/devices/batch/batch.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::batch_device {
namespace {

/// Operations that keep the extent of an axis along which they mix items, and those whose bodies are not looked into.
bool may_mix_items(const Node& node) {
  static constexpr std::string_view kMixing[] = {"CumSum",
                                                 "NormalizeL2",
                                                 "MVN",
                                                 "Reverse",
                                                 "ReverseSequence",
                                                 "Roll",
                                                 "TopK",
                                                 "TensorIterator",
                                                 "Loop",
                                                 "If",
                                                 "Einsum",
                                                 "ScatterElementsUpdate",
                                                 "ScatterUpdate",
                                                 "ScatterNDUpdate",
                                                 "ReadValue",
                                                 "Assign",
                                                 "RandomUniform",
                                                 "FFT",
                                                 "DFT",
                                                 "IDFT",
                                                 "SearchSorted"};
  const std::string_view type = node.get_type_name();
  if (std::find(std::begin(kMixing), std::end(kMixing), type) != std::end(kMixing)) return true;
  if (type != "Softmax" && type != "LogSoftmax") return false;
  const auto axis = node.get_attributes().get_int("axis", 1);
  return axis == 0 || axis + static_cast<std::int64_t>(node.get_output_partial_shape(0).size()) == 0;
}

/// Whether the second shape is that of `count` times as many items, one at first.
bool is_of(std::size_t count, const PartialShape& one, const PartialShape& many) {
  if (one.is_dynamic() || many.is_dynamic() || one.size() == 0 || one.size() != many.size()) return false;
  if (one[0] != Dimension(1) || many[0] != Dimension(static_cast<std::int64_t>(count))) return false;
  for (std::size_t axis = 1; axis < one.size(); ++axis)
    if (one[axis] != many[axis]) return false;
  return true;
}

}  // namespace

std::shared_ptr<Model> batched_model(const Model& model, std::size_t count) {
  auto batched = model.clone();
  std::map<std::size_t, PartialShape> shapes;
  for (std::size_t i = 0; i < batched->get_parameters().size(); ++i) {
    PartialShape shape = batched->get_parameters()[i]->get_output_partial_shape(0);
    if (shape.is_dynamic() || shape.size() == 0 || shape[0] != Dimension(1)) return nullptr;
    shape[0] = Dimension(static_cast<std::int64_t>(count));
    shapes.emplace(i, std::move(shape));
  }
  if (shapes.empty()) return nullptr;
  try {
    batched->reshape(shapes);
  } catch (const Error&) {
    return nullptr;
  }
  const NodeVector ones = model.get_ordered_ops(), many = batched->get_ordered_ops();
  if (ones.size() != many.size()) return nullptr;
  std::set<const Node*> have_items;  // In the model of one item: computed from inputs, not from shapes alone.
  for (std::size_t i = 0; i < ones.size(); ++i) {
    const Node& node = *ones[i];
    const bool is_input = is_op(&node, "Parameter");
    bool has_items = is_input;
    for (std::size_t input = 0; input < node.get_input_size(); ++input)
      has_items = has_items || have_items.count(node.get_input_node_ptr(input)) > 0;
    if (!has_items || is_op(&node, "ShapeOf")) continue;
    have_items.insert(&node);
    if (may_mix_items(node)) return nullptr;
    for (std::size_t output = 0; output < node.get_output_size(); ++output)
      if (!is_of(count, node.get_output_partial_shape(output), many[i]->get_output_partial_shape(output)))
        return nullptr;
  }
  for (const auto& result : model.get_results())
    if (have_items.count(result.get()) == 0) return nullptr;
  return batched;
}

}  // namespace tenon::inline v1::batch_device
