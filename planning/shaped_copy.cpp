// SPDX-License-Identifier: Apache-2.0
// Shape inference where other shapes reach.
#include <tenon/planning/shaped_copy.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <tenon/graph/evaluate.hpp>
#include <tenon/planning/same_value.hpp>

namespace tenon::inline v1::planning {
namespace {

/// What readers of an output may know.
struct Known {
  element::Type type;
  PartialShape shape;
  std::shared_ptr<const Tensor> value;
  std::vector<ValueBound> bounds;

  explicit Known(const descriptor::Tensor& tensor)
      : type(tensor.get_element_type()),
        shape(tensor.get_partial_shape()),
        value(tensor.value()),
        bounds(tensor.bounds()) {}
  bool is_still(const descriptor::Tensor& tensor) const {
    const auto& now = tensor.value();
    const bool same_bounds = std::ranges::equal(bounds, tensor.bounds(), [](const ValueBound& a, const ValueBound& b) {
      return a.min == b.min && a.max == b.max;
    });
    return type == tensor.get_element_type() && shape == tensor.get_partial_shape() && same_bounds &&
           (value == now || (value && now && is_same_value(*value, *now)));
  }
};

/// Asks the node for its outputs' shapes again. @return whether its readers are concerned.
bool revalidate(Node& node) {
  std::vector<Known> before;
  for (std::size_t i = 0; i < node.get_output_size(); ++i) before.emplace_back(node.get_output_tensor(i));
  node.validate_and_infer_types();
  if (node.get_output_size() != before.size()) return true;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!before[i].is_still(node.get_output_tensor(i))) return true;
  return false;
}

}  // namespace

bool is_static(const Node& node) {
  // A plan moves bytes, and strings are objects: it has them as inputs at most, which it does not read.
  const bool is_source = is_op(&node, "Parameter") || is_op(&node, "Constant");
  if (!is_source && has_strings(node)) return false;
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (node.get_output_partial_shape(i).is_dynamic() || node.get_output_element_type(i).is_dynamic()) return false;
  return true;
}

ShapedCopy::ShapedCopy(const Model& model) : model_(model.clone()), order_(model_->get_ordered_ops()) {
  std::unordered_map<const Node*, std::uint32_t> at;
  for (const auto& node : order_) {
    auto& sources = sources_.emplace_back();
    for (const auto& source : node->input_values()) sources.push_back(at.at(source.get_node()));
    const auto index = static_cast<std::uint32_t>(at.size());
    at.emplace(node.get(), index);
    if (!is_static(*node)) open_.insert(index);
  }
}

std::size_t ShapedCopy::give(std::span<const InputShape> inputs, std::vector<bool>& changed) {
  const auto& parameters = model_->get_parameters();
  std::unordered_set<const Node*> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& parameter = parameters[i];
    if (parameter->get_element_type() == inputs[i].type &&
        parameter->get_partial_shape() == PartialShape(inputs[i].shape))
      continue;
    // The body of a loop may leave the type open as well.
    parameter->set_element_type(inputs[i].type);
    parameter->set_partial_shape(PartialShape(inputs[i].shape));
    given.insert(parameter.get());
  }
  // Not Model::reshape(), which finds the order anew and asks all nodes.
  std::size_t asked = 0;
  std::vector<bool> differs(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const auto& from = sources_[i];
    const bool is_given = given.count(order_[i].get()) > 0;
    if (!is_given && std::none_of(from.begin(), from.end(), [&](std::uint32_t source) { return differs[source]; }))
      continue;
    ++asked;
    changed[i] = true;
    differs[i] = revalidate(*order_[i]) || is_given;
    const auto index = static_cast<std::uint32_t>(i);
    if (is_static(*order_[i]))
      open_.erase(index);
    else
      open_.insert(index);
  }
  return asked;
}

}  // namespace tenon::inline v1::planning
