// SPDX-License-Identifier: Apache-2.0
// Replaces ReadValue and Assign by parameters, initial values and results.
#include <tenon/planning/state_ports.hpp>

#include <algorithm>
#include <map>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>

namespace tenon::inline v1::planning {
namespace {

const std::string& id_of(const Node& node) { return node.get_attributes().get_string("variable_id"); }

/// What a state without an initialiser begins with: zeros, none where the shape is open.
Output<Node> nothing(const Node& node) {
  const PartialShape& shape = node.get_output_partial_shape(0);
  if (shape.rank().is_dynamic())
    throw Error(Code::kInvalidArgument, node.describe() + ": a state of unknown rank needs an initial value");
  Shape least;
  for (const Dimension& extent : shape)
    least.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
  return std::make_shared<op::v0::Constant>(zero_tensor(node.get_output_element_type(0), least))->output(0);
}

/// Every extent is open: a state keeps nothing but its rank, and often not all of its extents.
PartialShape opened(const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return shape;
  return PartialShape(std::vector<Dimension>(shape.size(), Dimension::dynamic()));
}

/// Whether only `reader` wants the value's elements.
bool is_read_by(const Output<Node>& value, const Node* reader) {
  const auto targets = value.get_target_inputs();
  return std::all_of(targets.begin(), targets.end(), [&](const auto& target) {
    return (target.get_node() == reader && target.get_index() == 0) ||
           std::string_view(target.get_node()->get_type_name()) == "ShapeOf";
  });
}

/// Whether it moves whole rows: Gather along axis 0.
bool moves_rows(const Node& node) {
  const auto* axis = as_type<op::v0::Constant>(node.get_input_node_ptr(2));
  return axis && axis->get_tensor().element_count() == 1 && axis->cast_vector<std::int64_t>()[0] == 0 &&
         node.get_attributes().get_int("batch_dims", 0) == 0 && node.get_input_partial_shape(1).rank() == 1 &&
         (node.get_input_element_type(1) == element::i32 || node.get_input_element_type(1) == element::i64);
}

/// Whether a softmax makes the value, alone or behind the guard that gives 0 where it is NaN.
bool is_softened(const Output<Node>& value) {
  const Node* node = value.get_node();
  if (is_op(node, "Select")) node = node->get_input_node_ptr(2);
  return is_op(node, "Softmax");
}

bool is_constant(const Output<Node>& value) { return is_op(value.get_node(), "Constant"); }

/// Whether a transposition leaves the last axis where it is, or exchanges it with the one before: these are read in
/// place.
bool is_read_turned(const Node& transpose) {
  const auto* constant = as_type<op::v0::Constant>(transpose.get_input_node_ptr(1));
  if (!constant) return false;
  auto order = constant->cast_vector<std::int64_t>();
  const auto rank = static_cast<std::int64_t>(order.size());
  for (auto& axis : order) axis += axis < 0 ? rank : 0;
  if (rank == 0 || order.back() == rank - 1) return rank != 0;
  std::swap(order[order.size() - 2], order.back());
  return std::is_sorted(order.begin(), order.end());
}

/// What attention reads the value as, behind nodes that its kernel computes as well (attention_match.hpp in
/// engine/lower): kOther if another step reads it too, or nothing does.
Growth::Role role_of(const Output<Node>& value, int depth = 0) {
  constexpr int kMostNodes = 8;
  Growth::Role role = Growth::Role::kOther;
  for (const auto& reader : value.get_target_inputs()) {
    Node* const node = reader.get_node();
    const std::size_t at = reader.get_index();
    Growth::Role found = Growth::Role::kOther;
    if (is_op(node, "Result") || is_op(node, "Assign") || is_op(node, "ShapeOf")) continue;
    if (is_op(node, "ScaledDotProductAttention") && (at == 1 || at == 2))
      found = at == 1 ? Growth::Role::kKeys : Growth::Role::kValues;
    else if (is_op(node, "MatMul") && at == 1)
      // Shares of keys, which a softmax makes, weigh values.
      found = node->get_output_target_inputs(0).size() == 1 && is_softened(node->input_value(0)) ? Growth::Role::kValues
                                                                                                 : Growth::Role::kKeys;
    else if (depth < kMostNodes &&
             ((is_op(node, "Transpose") && at == 0 && is_read_turned(*node)) ||
              ((is_op(node, "Unsqueeze") || is_op(node, "Broadcast") || is_op(node, "Tile") ||
                is_op(node, "Reshape")) &&
               at == 0) ||
              ((is_op(node, "Multiply") || is_op(node, "Divide")) && is_constant(node->input_value(1 - at)))))
      found = role_of(node->output(0), depth + 1);
    if (found == Growth::Role::kOther || (role != found && role != Growth::Role::kOther)) return Growth::Role::kOther;
    role = found;
  }
  return role;
}

/// What the state's result says of growth in place, if it does.
void find_growth(StatePorts& ports, const Model& model, std::size_t result) {
  const std::size_t own_parameters = model.get_parameters().size() - ports.inputs.size(),
                    own_results = model.get_results().size() - ports.outputs.size();
  Node* const concat = model.get_results()[result]->get_input_node_ptr(0);
  if (!is_op(concat, "Concat") || concat->get_input_size() < 2) return;
  Output<Node> before = concat->input_value(0);
  const Node* reader = concat;
  bool moves = false;
  if (is_op(before.get_node(), "Gather")) {
    if (!moves_rows(*before.get_node()) || !is_read_by(before, concat)) return;
    moves = true;
    reader = before.get_node();
    before = before.get_node()->input_value(0);
  }
  const auto& parameters = model.get_parameters();
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& parameter) { return parameter.get() == before.get_node(); });
  const auto parameter = static_cast<std::size_t>(found - parameters.begin());
  if (found == parameters.end() || parameter < own_parameters || !is_read_by(before, reader)) return;
  if (ports.inputs[parameter - own_parameters] != ports.outputs[result - own_results]) return;
  const auto rank = before.get_partial_shape().rank();
  if (rank.is_dynamic()) return;
  // The types whose strides kernels are told.
  const element::Type type = before.get_element_type();
  if (!(type == element::f32 || type == element::bf16 || type == element::f16 || type == element::i8 ||
        type == element::u8))
    return;
  std::int64_t axis = concat->get_attributes().get_int("axis");
  if (axis < 0) axis += rank.get_length();
  if (moves && axis == 0) return;
  ports.growths.push_back(
      {parameter, result, static_cast<std::size_t>(axis), 0, role_of(concat->output(0)), CacheFormat()});
}

}  // namespace

std::vector<std::string> state_ids(const Model& model) {
  std::vector<std::string> ids;
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "ReadValue") && !is_op(node, "Assign")) continue;
    if (std::find(ids.begin(), ids.end(), id_of(*node)) == ids.end()) ids.push_back(id_of(*node));
  }
  return ids;
}

StatePorts state_ports(const Model& source, const std::set<std::string>& is_set) {
  const auto copy = source.clone();
  StatePorts ports;
  ParameterVector parameters = copy->get_parameters();
  ResultVector results = copy->get_results();
  std::map<std::string, Output<Node>> begins;    // What the run finds, by id; the first reader decides.
  std::map<std::string, Output<Node>> assigned;  // What it leaves; the last assignment counts.
  for (const auto& node : copy->get_ordered_ops()) {
    if (is_op(node, "ReadValue")) {
      auto found = begins.find(id_of(*node));
      if (found == begins.end()) {
        Output<Node> begin;
        if (is_set.count(id_of(*node))) {
          const auto parameter = std::make_shared<op::v0::Parameter>(node->get_output_element_type(0),
                                                                     opened(node->get_output_partial_shape(0)));
          parameter->set_friendly_name(node->get_friendly_name());
          parameters.push_back(parameter);
          ports.inputs.push_back(id_of(*node));
          begin = parameter->output(0);
        } else {
          begin = node->get_input_size() ? node->input_value(0) : nothing(*node);
          assigned.emplace(id_of(*node), begin);  // Kept, even if nothing assigns.
        }
        found = begins.emplace(id_of(*node), begin).first;
      }
      node->output(0).replace(found->second);
    } else if (is_op(node, "Assign")) {
      assigned[id_of(*node)] = node->input_value(0);
      if (node->get_output_size()) node->output(0).replace(node->input_value(0));
    }
  }
  for (const auto& [id, value] : assigned) {
    const auto result = std::make_shared<op::v0::Result>(value);
    results.push_back(result);
    ports.outputs.push_back(id);
  }
  const auto made = std::make_shared<Model>(results, parameters, copy->get_friendly_name());
  made->set_friendly_name(copy->get_friendly_name());
  made->validate_nodes_and_infer_types();
  ports.model = made;
  for (std::size_t i = copy->get_results().size(); i < results.size(); ++i) find_growth(ports, *made, i);
  return ports;
}

}  // namespace tenon::inline v1::planning
