// SPDX-License-Identifier: Apache-2.0
// Values known without running the model: shape subgraphs, with bounds where extents are dynamic.
#include <algorithm>
#include <span>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// Shape computations are small; larger ones are left to constant folding.
constexpr std::size_t kMaxInput = 1024, kMaxOutput = 64;
using Bounds = std::vector<ValueBound>;
__extension__ using Wide = __int128;

std::int64_t clamped(Wide value) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  return value < low ? low : value > high ? high : static_cast<std::int64_t>(value);
}

ValueBound combine(std::string_view type, const ValueBound& a, const ValueBound& b) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  // Unbounded stays unbounded: the arithmetic below would turn it into a large number.
  if (type == "Maximum") return {std::max(a.min, b.min), std::max(a.max, b.max)};
  if (type == "Minimum") return {std::min(a.min, b.min), std::min(a.max, b.max)};
  if (type == "Add") {
    return {a.min == low || b.min == low ? low : clamped(static_cast<Wide>(a.min) + b.min),
            a.max == high || b.max == high ? high : clamped(static_cast<Wide>(a.max) + b.max)};
  }
  if (type == "Subtract") {
    return {a.min == low || b.max == high ? low : clamped(static_cast<Wide>(a.min) - b.max),
            a.max == high || b.min == low ? high : clamped(static_cast<Wide>(a.max) - b.min)};
  }
  if (type == "Multiply" && a.min >= 0 && b.min >= 0) {
    return {clamped(static_cast<Wide>(a.min) * b.min),
            a.max == high || b.max == high ? high : clamped(static_cast<Wide>(a.max) * b.max)};
  }
  if (type == "Divide" && a.min >= 0 && b.is_known() && b.min > 0)
    return {a.min / b.min, a.max == high ? high : a.max / b.min};
  return {};
}

/// Bounds of a node's output from those of its inputs; empty if unknown.
Bounds bounds_of(const Node& node) {
  const std::string_view type = node.get_type_info().name;
  if (type == "ShapeOf") {
    Bounds bounds;
    const PartialShape& shape = node.get_input_partial_shape(0);
    if (shape.rank().is_dynamic()) return {};
    for (const Dimension& d : shape)
      bounds.push_back({d.get_min_length(), d.get_max_length() < 0 ? Dimension::kUnbounded : d.get_max_length()});
    return bounds;
  }
  const PartialShape& out = node.get_output_partial_shape(0);
  if (!out.is_static() || out.size() > 1) return {};
  const std::size_t count = element_count(out.to_shape());
  if (count == 0 || count > kMaxOutput) return {};
  std::vector<std::optional<Bounds>> inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    if (node.get_input_element_type(i).is_real()) return {};
    const auto& value = node.get_input_tensor(i).value();
    if (value && value->element_count() > kMaxInput) return {};
    inputs.push_back(known_bounds(node, i));
  }
  if (type == "Concat") {
    Bounds bounds;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      // Unknown parts keep their places.
      const PartialShape& part = node.get_input_partial_shape(i);
      if (!part.is_static()) return {};
      const std::size_t size = element_count(part.to_shape());
      if (inputs[i] && inputs[i]->size() == size)
        bounds.insert(bounds.end(), inputs[i]->begin(), inputs[i]->end());
      else
        bounds.resize(bounds.size() + size);
    }
    return bounds.size() == count ? bounds : Bounds{};
  }
  if (inputs.empty() || !inputs[0]) return {};
  const Bounds& data = *inputs[0];
  if (type == "Unsqueeze" || type == "Squeeze" || type == "Reshape" || type == "Convert")
    return data.size() == count ? data : Bounds{};
  if (type == "Gather") {
    const auto index = known_ints(node, 1);
    if (!index || node.get_input_partial_shape(0).size() != 1) return {};
    Bounds bounds;
    for (std::int64_t i : *index) {
      if (i < 0) i += static_cast<std::int64_t>(data.size());
      if (i < 0 || i >= static_cast<std::int64_t>(data.size())) return {};
      bounds.push_back(data[static_cast<std::size_t>(i)]);
    }
    return bounds;
  }
  if ((type == "StridedSlice" || type == "Slice") && node.get_input_partial_shape(0).size() == 1) {
    // One axis: applies the operation to the positions to find which elements are taken.
    std::vector<Tensor> tensors;
    for (std::size_t i = 1; i < node.get_input_size(); ++i) {
      if (!node.get_input_tensor(i).value()) return {};
      tensors.push_back(*node.get_input_tensor(i).value());
    }
    Tensor positions(node.get_input_element_type(0), Shape{data.size()});
    std::vector<std::int64_t> order(data.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    store_elements(positions.element_type(), order.data(), order.size(), positions.data());
    tensors.insert(tensors.begin(), positions);
    std::vector<Tensor> outputs{Tensor(node.get_output_element_type(0), out.to_shape())};
    evaluate_planned(node, tensors, {}, outputs);
    Bounds bounds;
    for (std::int64_t i : to_vector<std::int64_t>(outputs[0])) bounds.push_back(data.at(static_cast<std::size_t>(i)));
    return bounds;
  }
  if (inputs.size() == 2 && inputs[1] &&
      (type == "Add" || type == "Subtract" || type == "Multiply" || type == "Divide" || type == "Maximum" ||
       type == "Minimum")) {
    const Bounds& other = *inputs[1];
    if ((data.size() != count && data.size() != 1) || (other.size() != count && other.size() != 1)) return {};
    Bounds bounds;
    for (std::size_t i = 0; i < count; ++i)
      bounds.push_back(combine(type, data[data.size() == 1 ? 0 : i], other[other.size() == 1 ? 0 : i]));
    return bounds;
  }
  return {};
}

bool all_inputs_known(const Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const auto& value = node.get_input_tensor(i).value();
    if (!value || value->element_count() > kMaxInput) return false;
  }
  return true;
}

bool outputs_are_small(const Node& node) {
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    const PartialShape& shape = node.get_output_partial_shape(i);
    if (shape.is_dynamic() || element_count(shape.to_shape()) > kMaxOutput) return false;
  }
  return true;
}
}  // namespace

void propagate_values(Node& node) {
  if (node.get_output_size() == 0 || is_op(&node, "Result") || is_op(&node, "Constant")) return;
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    node.get_output_tensor(i).set_value(nullptr);
    node.get_output_tensor(i).set_bounds({});
  }
  // Bodies may run for any length of time, so only a pass folds them.
  if (as_type<op::util::MultiSubGraphOp>(&node)) return;
  const bool is_shape_of = is_op(&node, "ShapeOf");
  if (node.operation().evaluate && node.get_input_size() > 0 && outputs_are_small(node) && !is_shape_of &&
      all_inputs_known(node)) {
    std::vector<Tensor> inputs, outputs;
    for (std::size_t i = 0; i < node.get_input_size(); ++i) inputs.push_back(*node.get_input_tensor(i).value());
    for (std::size_t i = 0; i < node.get_output_size(); ++i)
      outputs.emplace_back(node.get_output_element_type(i), node.get_output_shape(i));
    evaluate_planned(node, inputs, {}, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      node.get_output_tensor(i).set_value(std::make_shared<Tensor>(std::move(outputs[i])));
    }
    return;
  }
  if (node.get_output_element_type(0).is_real() || node.get_output_size() != 1 || has_strings(node)) return;
  Bounds bounds = bounds_of(node);
  if (bounds.empty() && !is_shape_of) return;
  const bool exact = std::all_of(bounds.begin(), bounds.end(), [](const ValueBound& b) { return b.is_known(); });
  const PartialShape& shape = node.get_output_partial_shape(0);
  if (exact && shape.is_static() && element_count(shape.to_shape()) == bounds.size() &&
      (!bounds.empty() || is_shape_of)) {
    std::vector<std::int64_t> values;
    for (const ValueBound& bound : bounds) values.push_back(bound.min);
    auto tensor = std::make_shared<Tensor>(node.get_output_element_type(0), shape.to_shape());
    if (!values.empty()) store_elements(tensor->element_type(), values.data(), values.size(), tensor->data());
    node.get_output_tensor(0).set_value(std::move(tensor));
    return;
  }
  node.get_output_tensor(0).set_bounds(std::move(bounds));
}

}  // namespace v1
}  // namespace tenon
