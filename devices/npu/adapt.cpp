// SPDX-License-Identifier: Apache-2.0
// Replaces operations that a driver may not support by ones that all drivers support.
#include <tenon/devices/npu/adapt.hpp>

#include <algorithm>
#include <set>

#include <tenon/graph/input_stage/expand.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::npu_device {
namespace {

bool is_too_deep(const PartialShape& shape) { return shape.is_static() && shape.size() > abi::kMaxArgumentDimensions; }

bool has_deep_port(const Model& model) {
  const auto is_deep = [](const auto& port) { return is_too_deep(port->get_output_partial_shape(0)); };
  return std::any_of(model.get_parameters().begin(), model.get_parameters().end(), is_deep) ||
         std::any_of(model.get_results().begin(), model.get_results().end(), is_deep);
}

/// Merges the outer extents into one.
Shape flattened(const Shape& shape) {
  const std::size_t joined = shape.size() - abi::kMaxArgumentDimensions + 1;
  Shape flat(shape.begin() + static_cast<std::ptrdiff_t>(joined) - 1, shape.end());
  flat[0] = 1;
  for (std::size_t i = 0; i < joined; ++i) flat[0] *= shape[i];
  return flat;
}

Output<Node> reshaped(const Output<Node>& value, const Shape& shape, const std::string& name) {
  const auto extents = op::v0::Constant::create(element::i64, Shape{shape.size()},
                                                std::vector<std::int64_t>(shape.begin(), shape.end()));
  extents->set_friendly_name(name + "/extents");
  const auto node = make_node("Reshape", 1, {value, extents->output(0)}, {{"special_zero", false}});
  node->set_friendly_name(name);
  return node->output(0);
}

void flatten_ports(Model& model) {
  const ParameterVector parameters = model.get_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& old = parameters[i];
    if (!is_too_deep(old->get_output_partial_shape(0))) continue;
    const Shape shape = old->get_output_shape(0);
    const auto names = old->output(0).get_names();
    const auto flat = std::make_shared<op::v0::Parameter>(old->get_element_type(), PartialShape(flattened(shape)));
    flat->set_friendly_name(old->get_friendly_name());
    const auto inside = reshaped(flat->output(0), shape, old->get_friendly_name() + "/shape");
    old->output(0).replace(inside);
    inside.get_node_shared_ptr()->output(0).set_names({});
    flat->output(0).set_names(names);
    model.replace_parameter(i, flat);
  }
  for (const auto& result : model.get_results()) {
    const Output<Node> value = result->input_value(0);
    if (!is_too_deep(value.get_partial_shape())) continue;
    const auto& names = value.get_names();
    auto flat = reshaped(value, flattened(value.get_shape()), value.get_node()->get_friendly_name() + "/flat");
    flat.set_names(names);
    result->input(0).replace_source_output(flat);
  }
  model.validate_nodes_and_infer_types();
}

}  // namespace

std::shared_ptr<const Model> adapted(const std::shared_ptr<const Model>& model, const Npu& npu) {
  std::shared_ptr<Model> copy;
  if (!npu.facts.driver->has(abi::kInputStageExtension)) copy = expand_input_stages(*model);
  if (!has_deep_port(*model)) return copy ? copy : model;
  if (!copy) copy = model->clone();
  flatten_ports(*copy);
  return copy;
}

std::shared_ptr<const Model> for_driver(const std::shared_ptr<const Model>& model, BatchMode mode, const Npu& npu,
                                        ModelInfo& info) {
  const Debatched taken_apart = debatch(model, mode);
  info.batch = taken_apart.batch;
  return adapted(take_states(taken_apart.model, info), npu);
}

std::vector<std::string> own_layers(const Model& model, const Model& adapted, const std::vector<std::string>& layers) {
  const std::set<std::string> taken(layers.begin(), layers.end());
  const auto ops = adapted.get_ordered_ops();
  std::vector<std::string> own;
  for (const auto& node : model.get_ordered_ops()) {
    const std::string& name = node->get_friendly_name();
    if (!taken.count(name)) continue;
    // The operations that replace an input stage are named after it.
    const bool whole = !is_op(node, "InputStage") || std::all_of(ops.begin(), ops.end(), [&](const auto& part) {
      const std::string& called = part->get_friendly_name();
      return called.compare(0, name.size() + 1, name + "/") != 0 || is_op(part, "Constant") || taken.count(called);
    });
    if (whole) own.push_back(name);
  }
  return own;
}

}  // namespace tenon::inline v1::npu_device
