// SPDX-License-Identifier: Apache-2.0
// Partitions a model by the nodes' devices.
#include <algorithm>
#include <set>

#include <tenon/devices/hetero/hetero.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::hetero {
namespace {

constexpr const char* kAffinity = "affinity";

bool is_outside(const Node& node) {
  return is_op(&node, "Parameter") || is_op(&node, "Result") || is_op(&node, "Constant");
}
bool is_state(const Node& node) { return is_op(&node, "ReadValue") || is_op(&node, "Assign"); }

/// Cuts by levels: a node's level grows along its inputs at each change of device. Nodes of one device and level form a
/// part; edges between parts lead to higher levels, so there are no cycles.
class Cutter {
 public:
  Cutter(const Model& model, const Assignment& assignment)
      : model_(model), assignment_(assignment), order_(model.get_ordered_ops()) {}

  Partition run() {
    find_outside_values();
    find_levels();
    for (auto& [key, nodes] : parts_by_level_) build(key.second, nodes);
    for (const auto& result : model_.get_results()) result_.outputs.push_back(value_of(result->input_value(0)));
    for (std::size_t i = 0; i < assigns_.size(); ++i)
      if (assigns_[i]) result_.variables[i].after = value_of(assigns_[i]->input_value(0));
    make_initialiser();
    result_.value_count = next_value_;
    return std::move(result_);
  }

 private:
  using Key = std::pair<const Node*, std::size_t>;
  static Key key_of(const Output<Node>& output) { return {output.get_node(), output.get_index()}; }

  /// Inputs and states come from outside all parts.
  void find_outside_values() {
    for (const auto& parameter : model_.get_parameters()) {
      values_[{parameter.get(), 0}] = next_value_;
      result_.inputs.push_back(next_value_++);
    }
    for (const auto& node : order_) {
      if (!is_op(node, "ReadValue")) continue;
      const std::size_t index = variable(node->get_attributes().get_string("variable_id"));
      Variable& variable = result_.variables[index];
      variable.type = node->get_output_element_type(0);
      variable.shape = node->get_output_partial_shape(0);
      if (variable.before == kNoValue) variable.before = next_value_++;
      values_[{node.get(), 0}] = variable.before;
      if (node->get_input_size() > 0) reads_[index] = node;
    }
    for (const auto& node : order_) {
      if (!is_op(node, "Assign")) continue;
      assigns_[variable(node->get_attributes().get_string("variable_id"))] = node;
      // Assign passes its input on.
    }
  }
  std::size_t variable(const std::string& id) {
    for (std::size_t i = 0; i < result_.variables.size(); ++i)
      if (result_.variables[i].id == id) return i;
    result_.variables.push_back({id, {}, {}, kNoValue, kNoValue});
    assigns_.emplace_back();
    reads_.emplace_back();
    return result_.variables.size() - 1;
  }

  void find_levels() {
    std::map<const Node*, int> levels;
    for (const auto& node : order_) {
      if (is_outside(*node) || is_state(*node)) continue;
      const std::string& device = assignment_.at(node.get());
      int level = 0;
      for (const auto& source : node->input_values()) {
        const auto found = levels.find(source.get_node());
        if (found == levels.end()) continue;
        level = std::max(level, found->second + (assignment_.at(source.get_node()) != device));
      }
      levels[node.get()] = level;
      parts_by_level_[{level, device}].push_back(node);
    }
  }

  /// Builds a part: copies of its nodes with new parameters, and a result for each value used elsewhere.
  void build(const std::string& device, const NodeVector& nodes) {
    const std::set<const Node*> members = [&] {
      std::set<const Node*> set;
      for (const auto& node : nodes) set.insert(node.get());
      return set;
    }();
    Part part;
    part.device = device;
    std::map<Key, Output<Node>> made;
    ParameterVector parameters;
    ResultVector results;
    const auto input = [&](const Output<Node>& source) {
      if (const auto known = made.find(key_of(source)); known != made.end()) return known->second;
      std::shared_ptr<Node> copy;
      if (is_op(source.get_node(), "Constant")) {
        copy = source.get_node()->clone_with_new_inputs({});
      } else {
        auto parameter = std::make_shared<op::v0::Parameter>(source.get_element_type(), source.get_partial_shape());
        copy = parameter;
        parameters.push_back(std::move(parameter));
        part.inputs.push_back(value_of(source));
      }
      copy->set_friendly_name(source.get_node()->get_friendly_name());
      copy->output(0).set_names(source.get_names());
      copy->output(0).get_rt_info() = source.get_rt_info();
      return made[key_of(source)] = copy->output(0);
    };
    for (const auto& node : nodes) {
      OutputVector inputs;
      for (const auto& source : node->input_values()) inputs.push_back(input(source));
      const auto copy = node->clone_with_new_inputs(inputs);
      copy->set_friendly_name(node->get_friendly_name());
      for (std::size_t i = 0; i < node->get_output_size(); ++i) {
        copy->output(i).set_names(node->get_output_tensor(i).get_names());
        made[{node.get(), i}] = copy->output(i);
      }
    }
    for (const auto& node : nodes) {
      for (std::size_t i = 0; i < node->get_output_size(); ++i) {
        const auto readers = node->get_output_target_inputs(i);
        const bool leaves = std::any_of(readers.begin(), readers.end(),
                                        [&](const Input<Node>& reader) { return !members.count(reader.get_node()); });
        if (!leaves) continue;
        results.push_back(std::make_shared<op::v0::Result>(made.at({node.get(), i})));
        results.back()->set_friendly_name(node->get_friendly_name() + "/out" + std::to_string(i));
        values_[{node.get(), i}] = next_value_;
        part.outputs.push_back(next_value_++);
      }
    }
    // Nothing uses these nodes.
    if (results.empty()) return;
    part.model = std::make_shared<Model>(results, parameters,
                                         model_.get_friendly_name() + "/" + std::to_string(result_.parts.size()));
    result_.parts.push_back(std::move(part));
  }

  ValueId value_of(Output<Node> source) {
    // Assign passes its input on.
    while (is_op(source.get_node(), "Assign")) source = source.get_node()->input_value(0);
    if (const auto found = values_.find(key_of(source)); found != values_.end()) return found->second;
    const auto* constant = as_type<op::v0::Constant>(source.get_node());
    if (!constant)
      throw Error(Code::kInternal, "HETERO: " + source.get_node()->describe() + " is read before it is computed");
    result_.constants[next_value_] = constant->get_tensor();
    return values_[key_of(source)] = next_value_++;
  }

  void make_initialiser() {
    const auto copy = model_.clone();
    OutputVector outputs;
    for (const auto& node : copy->get_ordered_ops()) {
      if (!is_op(node, "ReadValue") || node->get_input_size() == 0) continue;
      const std::size_t index = variable(node->get_attributes().get_string("variable_id"));
      if (std::count(result_.initialised.begin(), result_.initialised.end(), index)) continue;
      outputs.push_back(node->input_value(0));
      result_.initialised.push_back(index);
    }
    if (!outputs.empty())
      result_.initialiser = std::make_shared<Model>(outputs, copy->get_parameters(), "initial values");
  }

  const Model& model_;
  const Assignment& assignment_;
  NodeVector order_;
  std::map<Key, ValueId> values_;
  std::map<std::pair<int, std::string>, NodeVector> parts_by_level_;
  NodeVector assigns_, reads_;  // Ordered by variable.
  ValueId next_value_ = 0;
  Partition result_;
};

}  // namespace

Assignment assign(const DeviceHost& host, const std::shared_ptr<const Model>& model,
                  const std::vector<std::string>& devices, const AnyMap& properties, bool partial) {
  std::vector<SupportedOpsMap> answers;
  for (const std::string& device : devices)
    answers.push_back(host.query_model(model, device, properties_for(host, device, devices, properties)));
  Assignment assignment;
  std::string lacking;
  for (const auto& node : model->get_ordered_ops()) {
    if (const auto wish = node->get_rt_info().find(kAffinity); wish != node->get_rt_info().end()) {
      const std::string device = wish->second.as<std::string>();
      if (std::find(devices.begin(), devices.end(), device) == devices.end())
        throw Error(Code::kInvalidArgument, "HETERO: " + node->describe() + " has the affinity " + device +
                                                ", which is not a device of this call");
      assignment[node.get()] = device;
      continue;
    }
    std::size_t i = 0;
    while (i < devices.size() && !answers[i].count(node->get_friendly_name())) ++i;
    if (i < devices.size())
      assignment[node.get()] = devices[i];
    else if (is_outside(*node) || is_state(*node))
      assignment[node.get()] = devices.front();  // Handled by HETERO itself.
    else
      lacking += (lacking.empty() ? "" : ", ") + node->describe();
  }
  if (!lacking.empty() && !partial) {
    std::string names;
    for (const auto& device : devices) names += (names.empty() ? "" : ", ") + device;
    throw NotImplemented("HETERO: none of " + names + " runs " + lacking);
  }
  return assignment;
}

Partition cut(const Model& model, const Assignment& assignment) { return Cutter(model, assignment).run(); }

}  // namespace tenon::inline v1::hetero
