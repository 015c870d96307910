// SPDX-License-Identifier: Apache-2.0
// Puts the operations that narrow and widen rows around states.
#include <tenon/devices/gpu/lower/caches.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include <tenon/devices/gpu/lower/build/cache_rows.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// A state's extent along the last axis, which its port leaves open.
std::optional<std::size_t> columns_of(const Model& model, const std::string& id) {
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "ReadValue") || node->get_attributes().get_string("variable_id") != id) continue;
    const PartialShape& shape = node->get_output_partial_shape(0);
    if (shape.rank().is_dynamic() || shape.size() == 0) return std::nullopt;
    const Dimension& last = shape[shape.size() - 1];
    if (last.is_dynamic() || last.get_length() == 0) return std::nullopt;
    return static_cast<std::size_t>(last.get_length());
  }
  return std::nullopt;
}

/// Rows as they lie, without a detour where they come from such.
Output<Node> lying(const Output<Node>& value, const CacheRows& rows) {
  if (const Output<Node> known = lying_of(value)) return known;
  const Node& node = *value.get_node();
  if (is_op(&node, "Gather"))
    if (const Output<Node> known = lying_of(node.input_value(0)))
      return node.clone_with_new_inputs({known, node.input_value(1), node.input_value(2)})->output(0);
  return narrowed(value, rows.type, rows.columns);
}

void note_own_memory(Node& port) { port.get_rt_info()[kOwnMemory] = true; }

}  // namespace

CacheTypes cache_types(const Model& model, ElementType keys, ElementType values) {
  CacheTypes types;
  if (keys == ElementType::kF32 && values == ElementType::kF32) return types;
  const std::vector<std::string> ids = planning::state_ids(model);
  const planning::StatePorts ports = planning::state_ports(model, std::set<std::string>(ids.begin(), ids.end()));
  const auto& parameters = ports.model->get_parameters();
  for (const planning::Growth& growth : ports.growths) {
    if (growth.role == planning::Growth::Role::kOther) continue;
    const ElementType type = growth.role == planning::Growth::Role::kKeys ? keys : values;
    const std::string& id = ports.inputs[growth.parameter + ports.inputs.size() - parameters.size()];
    const auto columns = columns_of(model, id);
    const auto rank = static_cast<std::size_t>(parameters[growth.parameter]->get_partial_shape().size());
    if (type == ElementType::kF32 || !columns || growth.axis + 1 >= rank ||
        parameters[growth.parameter]->get_element_type() != element::f32)
      continue;
    types[id] = {type, *columns};
  }
  return types;
}

GrowingAxes growing_axes(const Model& model) {
  const std::vector<std::string> ids = planning::state_ids(model);
  const planning::StatePorts ports = planning::state_ports(model, std::set<std::string>(ids.begin(), ids.end()));
  const auto& parameters = ports.model->get_parameters();
  GrowingAxes axes;
  for (const planning::Growth& growth : ports.growths) {
    const Node* const parameter = parameters[growth.parameter].get();
    const Node& concat = *ports.model->get_results()[growth.result]->get_input_node_ptr(0);
    const auto rank = static_cast<std::size_t>(parameter->get_output_partial_shape(0).size());
    // A state whose integers decide shapes is read by the host.
    if (concat.get_input_node_ptr(0) == parameter && growth.axis + 1 < rank &&
        info(static_cast<ElementType>(parameter->get_output_element_type(0))).is_real)
      axes[ports.inputs[growth.parameter + ports.inputs.size() - parameters.size()]] = growth.axis;
  }
  return axes;
}

namespace {

void note_growth(Node& port, const std::string& id, const GrowingAxes& growing) {
  if (const auto found = growing.find(id); found != growing.end())
    port.get_rt_info()[kGrows] = static_cast<std::int64_t>(found->second);
}

}  // namespace

std::shared_ptr<const Model> with_caches(const planning::StatePorts& ports, const CacheTypes& types,
                                         const GrowingAxes& growing) {
  const auto copy = ports.model->clone();
  ParameterVector parameters = copy->get_parameters();
  const ResultVector& results = copy->get_results();
  const std::size_t own_parameters = parameters.size() - ports.inputs.size(),
                    own_results = results.size() - ports.outputs.size();
  for (std::size_t i = 0; i < ports.inputs.size(); ++i) {
    auto& parameter = parameters[own_parameters + i];
    if (const auto found = types.find(ports.inputs[i]); found != types.end()) {
      const auto port =
          std::make_shared<op::v0::Parameter>(lying_type(found->second.type), parameter->get_partial_shape());
      port->set_friendly_name(parameter->get_friendly_name());
      if (found->second.type == ElementType::kU8) port->get_rt_info()[kRowBits] = true;
      parameter->output(0).replace(widened(port->output(0), found->second.columns));
      parameter = port;
    }
    note_own_memory(*parameter);
    note_growth(*parameter, ports.inputs[i], growing);
  }
  for (std::size_t i = 0; i < ports.outputs.size(); ++i) {
    Node& result = *results[own_results + i];
    note_own_memory(result);
    note_growth(result, ports.outputs[i], growing);
    const auto found = types.find(ports.outputs[i]);
    if (found == types.end()) continue;
    const Output<Node> value = result.input_value(0);
    Output<Node> kept;
    if (is_op(value.get_node(), "Concat")) {
      OutputVector parts = value.get_node()->input_values();
      for (Output<Node>& part : parts) part = lying(part, found->second);
      kept = value.get_node()->clone_with_new_inputs(parts)->output(0);
      Output<Node>(value).replace(widened(kept, found->second.columns));
    } else {
      kept = lying(value, found->second);
    }
    result.set_argument(0, kept);
  }
  const auto made = std::make_shared<Model>(results, parameters, copy->get_friendly_name());
  made->validate_nodes_and_infer_types();
  return made;
}

Tensor as_cache(const Tensor& value, ElementType type) {
  if (type != ElementType::kU8) {
    const auto source = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(value.shape()));
    return evaluate_node(*make_node("Convert", 0, {source}, {{"destination_type", element::Type(type)}}), {value})[0];
  }
  Shape shape = value.shape();
  const std::size_t columns = shape.back(), words = row_words(columns);
  shape.back() = words;
  Tensor lying = zero_tensor(ElementType::kI32, shape);
  const std::size_t rows = element_count(value.shape()) / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const from = value.data<float>() + row * columns;
    auto* const to = reinterpret_cast<std::uint8_t*>(lying.data<std::int32_t>() + row * words);
    const auto [least, most] = std::minmax_element(from, from + columns);
    float scale[2] = {*most / 255 - *least / 255, *least};
    const bool is_finite = std::all_of(from, from + columns, [](float x) { return std::isfinite(x); });
    const float by = is_finite && scale[0] > 1e-30f ? 1 / scale[0] : 0;
    if (!is_finite) scale[0] = scale[1] = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < columns && by > 0; ++i)
      to[i] = static_cast<std::uint8_t>(std::clamp(std::nearbyint((from[i] - scale[1]) * by), 0.f, 255.f));
    std::memcpy(to + (words - 2) * 4, scale, sizeof scale);
  }
  return lying;
}

Tensor from_cache(const Tensor& lying, const CacheRows& rows) {
  if (rows.type != ElementType::kU8) {
    const auto source = std::make_shared<op::v0::Parameter>(element::Type(rows.type), PartialShape(lying.shape()));
    return evaluate_node(*make_node("Convert", 0, {source}, {{"destination_type", element::f32}}), {lying})[0];
  }
  Shape shape = lying.shape();
  const std::size_t words = shape.back();
  shape.back() = rows.columns;
  Tensor value(ElementType::kF32, shape);
  for (std::size_t row = 0; row < element_count(shape) / rows.columns; ++row) {
    const auto* const from = reinterpret_cast<const std::uint8_t*>(lying.data<std::int32_t>() + row * words);
    float scale[2];
    std::memcpy(scale, from + (words - 2) * 4, sizeof scale);
    for (std::size_t i = 0; i < rows.columns; ++i)
      value.data<float>()[row * rows.columns + i] = scale[1] + scale[0] * static_cast<float>(from[i]);
  }
  return value;
}

}  // namespace tenon::inline v1::gpu_device
