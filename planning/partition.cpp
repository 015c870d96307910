// SPDX-License-Identifier: Apache-2.0
// Takes models apart.
#include <tenon/planning/partition.hpp>

#include <map>
#include <set>
#include <unordered_set>

namespace tenon::inline v1::planning {

OutputVector crossing_values(const NodeVector& readers,
                             const std::function<bool(const Node& reader, const Output<Node>& source)>& crosses) {
  OutputVector values;
  std::set<ValueKey> seen;
  for (const auto& reader : readers)
    for (const auto& source : reader->input_values())
      if (crosses(*reader, source) && seen.insert(key_of(source)).second) values.push_back(source);
  return values;
}

std::shared_ptr<op::v0::Parameter> parameter_for(const Output<Node>& value, const std::string& friendly_name) {
  auto parameter = std::make_shared<op::v0::Parameter>(value.get_element_type(), value.get_partial_shape());
  parameter->set_friendly_name(friendly_name);
  return parameter;
}

Remainder take_remainder(const NodeVector& nodes, const OutputVector& results, const std::string& name,
                         const std::function<Output<Node>(const Output<Node>& value)>& stand_in) {
  std::unordered_set<const Node*> taken;
  for (const auto& node : nodes) taken.insert(node.get());
  Remainder made;
  ParameterVector parameters;
  std::map<ValueKey, Output<Node>> stands_for;
  for (const auto& node : nodes) {
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Output<Node> source = node->input_value(i);
      if (taken.count(source.get_node()) || is_op(source.get_node(), "Constant")) continue;
      auto found = stands_for.find(key_of(source));
      if (found == stands_for.end()) {
        found = stands_for.emplace(key_of(source), stand_in(source)).first;
        if (auto parameter = as_type_ptr<op::v0::Parameter>(found->second.get_node_shared_ptr())) {
          parameters.push_back(std::move(parameter));
          made.inputs.push_back(key_of(source));
        }
      }
      node->input(i).replace_source_output(found->second);
    }
  }
  made.model = std::make_shared<Model>(results, parameters, name);
  return made;
}

}  // namespace tenon::inline v1::planning
