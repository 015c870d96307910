// SPDX-License-Identifier: Apache-2.0
// Ports of the compiled model: variables become ports; types and layouts change as the client asks.
#include <tenon/drivers/npu/compiler/arguments.hpp>

#include <algorithm>
#include <map>

#include <tenon/core/error.hpp>
#include <tenon/graph/initialisers.hpp>

namespace tenon::npu::compiler {
namespace {

[[noreturn]] void refuse_argument(const std::string& why) { throw Error(Code::kInvalidArgument, "NPU: " + why); }

std::vector<std::string> sorted_names(const Output<Node>& output) {
  std::vector<std::string> names(output.get_names().begin(), output.get_names().end());
  std::sort(names.begin(), names.end());
  return names;
}

std::string default_layout(const PartialShape& shape) {
  static constexpr const char* kByRank[] = {"C", "C", "NC", "CHW", "NCHW", "NCDHW"};
  if (shape.rank().is_dynamic() || shape.size() >= std::size(kByRank)) return "ANY";
  return kByRank[shape.size()];
}

/// The permutation from memory's layout to the model's; empty if they are the same.
std::vector<std::int64_t> to_model_order(const std::string& layout, std::size_t rank, const std::string& port) {
  struct Row {
    const char* layout;
    std::size_t rank;
    std::vector<std::int64_t> order;
  };
  static const Row rows[] = {
      {"C", 1, {}},
      {"NC", 2, {}},
      {"HW", 2, {}},
      {"CHW", 3, {}},
      {"NCHW", 4, {}},
      {"OIHW", 4, {}},
      {"NCDHW", 5, {}},
      {"CN", 2, {1, 0}},
      {"NHWC", 4, {0, 3, 1, 2}},
      {"NDHWC", 5, {0, 4, 1, 2, 3}},
      {"**SCALAR**", 0, {}},
      {"SCALAR", 0, {}},
  };
  for (const Row& row : rows) {
    if (layout != row.layout) continue;
    if (row.rank == rank) return row.order;
    // Clients use the same layout name for scalars and vectors.
    if (rank <= 1 && row.rank <= 1) return {};
    refuse_argument("layout " + layout + " is asked for '" + port + "', which has rank " + std::to_string(rank));
  }
  return {};  // ANY, BLOCKED
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return result;
}

Output<Node> transposed(const Output<Node>& value, const std::vector<std::int64_t>& order) {
  const auto constant = std::make_shared<op::v0::Constant>(element::i64, Shape{order.size()}, order);
  return std::make_shared<op::v1::Transpose>(value, constant->output(0))->output(0);
}

/// The flags' value for a port, given by number or by name.
template <typename T>
const T* asked(const ByPort<T>& flags, std::size_t index, const std::string& name) {
  const std::string number = std::to_string(index);
  for (const auto& [port, value] : flags)
    if (port == number || port == name) return &value;
  return nullptr;
}

template <typename T>
void check_ports(const ByPort<T>& flags, const std::vector<Argument>& ports, const char* flag) {
  for (const auto& [port, value] : flags) {
    bool known = false;
    for (std::size_t i = 0; i < ports.size(); ++i) known |= port == std::to_string(i) || port == ports[i].name;
    if (!known)
      refuse_argument(std::string(flag) + " names \"" + port + "\", but the model has " + std::to_string(ports.size()) +
                      " of them and none of that name");
  }
}

void fill_input(Argument& argument, const op::v0::Parameter& parameter) {
  argument.name = argument.friendly_name = parameter.get_friendly_name();
  argument.tensor_names = sorted_names(const_cast<op::v0::Parameter&>(parameter).output(0));
  argument.network_type = argument.type = parameter.get_element_type();
  argument.shape = parameter.get_partial_shape();
  argument.network_layout = argument.layout = default_layout(argument.shape);
}

void fill_output(Argument& argument, const op::v0::Result& result) {
  const Output<Node> source = result.input_value(0);
  argument.is_input = false;
  argument.name = source.get_node()->get_friendly_name();
  if (source.get_node()->get_output_size() > 1) argument.name += "." + std::to_string(source.get_index());
  argument.friendly_name = result.get_friendly_name();
  argument.tensor_names = sorted_names(source);
  argument.network_type = argument.type = source.get_element_type();
  argument.network_layout = argument.layout = default_layout(source.get_partial_shape());
}

/// Whether all values of the node are zeros, which is a state's default.
bool is_zero(const Node& node, const PartialShape& variable) {
  const auto* constant = dynamic_cast<const op::v0::Constant*>(&node);
  if (!constant || variable.is_dynamic()) return false;
  const auto* bytes = static_cast<const char*>(constant->get_data_ptr());
  return std::all_of(bytes, bytes + constant->get_byte_size(), [](char byte) { return byte == 0; });
}

/// Builds the model with the graph's arguments as ports.
class Builder {
 public:
  Builder(const Model& model, const BuildFlags& flags) : model_(model), flags_(flags) {}

  /// @param initialisers  See Interface.
  std::shared_ptr<Model> run(std::vector<Argument>& inputs, std::vector<Argument>& outputs,
                             std::shared_ptr<const Model>& initialisers) {
    for (const auto& parameter : model_.get_parameters()) fill_input(inputs.emplace_back(), *parameter);
    for (const auto& result : model_.get_results()) fill_output(outputs.emplace_back(), *result);
    check_ports(flags_.input_types, inputs, "--inputs_precisions");
    check_ports(flags_.input_layouts, inputs, "--inputs_layouts");
    check_ports(flags_.output_types, outputs, "--outputs_precisions");
    check_ports(flags_.output_layouts, outputs, "--outputs_layouts");
    for (std::size_t i = 0; i < inputs.size(); ++i) change_input(i, inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i) change_output(i, outputs[i]);
    const NodeVector nodes = model_.get_ordered_ops();
    initialisers = initialisers_among(nodes);
    add_states(nodes, inputs, outputs);
    auto made = std::make_shared<Model>(results_, parameters_, model_.get_name());
    made->set_friendly_name(model_.get_friendly_name());
    made->validate_nodes_and_infer_types();
    return made;
  }

 private:
  void change_input(std::size_t index, Argument& argument) {
    const auto& old = model_.get_parameters()[index];
    const ElementType* type = asked(flags_.input_types, index, argument.name);
    const std::string* layout = asked(flags_.input_layouts, index, argument.name);
    if (type) argument.type = *type;
    std::vector<std::int64_t> order;
    if (layout) {
      order = to_model_order(*layout, rank_of(argument), argument.name);
      argument.layout = *layout;
    }
    if (argument.type == argument.network_type && order.empty()) {
      parameters_.push_back(old);
      return;
    }
    PartialShape shape = argument.shape;
    for (std::size_t i = 0; i < order.size(); ++i) shape[static_cast<std::size_t>(order[i])] = argument.shape[i];
    const auto parameter = std::make_shared<op::v0::Parameter>(argument.type, shape);
    parameter->set_friendly_name(old->get_friendly_name());
    Output<Node> value = parameter->output(0);
    if (!order.empty()) value = transposed(value, order);
    if (argument.type != argument.network_type)
      value = std::make_shared<op::v0::Convert>(value, argument.network_type)->output(0);
    old->output(0).replace(value);
    parameters_.push_back(parameter);
  }

  void change_output(std::size_t index, Argument& argument) {
    const auto& old = model_.get_results()[index];
    const ElementType* type = asked(flags_.output_types, index, argument.name);
    const std::string* layout = asked(flags_.output_layouts, index, argument.name);
    Output<Node> value = old->input_value(0);
    if (type) argument.type = *type;
    if (argument.type != argument.network_type)
      value = std::make_shared<op::v0::Convert>(value, argument.type)->output(0);
    if (layout) {
      if (value.get_partial_shape().rank().is_dynamic())
        refuse_argument("output '" + argument.name + "' has a dynamic rank");
      const auto order = to_model_order(*layout, value.get_partial_shape().size(), argument.name);
      if (!order.empty()) value = transposed(value, inverse(order));
      argument.layout = *layout;
    }
    if (value == old->input_value(0)) {
      results_.push_back(old);
      return;
    }
    const auto result = std::make_shared<op::v0::Result>(value);
    result->set_friendly_name(old->get_friendly_name());
    results_.push_back(result);
  }

  std::shared_ptr<const Model> initialisers_among(const NodeVector& nodes) const {
    std::map<std::string, std::shared_ptr<Node>> readers;  // The first ReadValue of each variable.
    for (const auto& node : nodes)
      if (is_op(node, "ReadValue")) readers.emplace(variable_id(*node), node);
    NodeVector initialised;
    for (const auto& [id, node] : readers)
      if (node->get_input_size() > 0 && !is_zero(*node->get_input_node_ptr(0), node->get_output_partial_shape(0)))
        initialised.push_back(node);
    return initialised.empty() ? nullptr : make_initialisers(initialised, parameters_);
  }

  /// Turns ReadValue into a Parameter and Assign into a Result: the client's memory is the variable.
  void add_states(const NodeVector& nodes, std::vector<Argument>& inputs, std::vector<Argument>& outputs) {
    std::map<std::string, std::shared_ptr<op::v0::Parameter>> variables;
    std::vector<std::string> order;
    for (const auto& node : nodes) {
      if (!is_op(node, "ReadValue")) continue;
      const std::string& id = variable_id(*node);
      auto& parameter = variables[id];
      if (!parameter) {
        parameter =
            std::make_shared<op::v0::Parameter>(node->get_output_element_type(0), node->get_output_partial_shape(0));
        parameter->set_friendly_name(kReadValuePrefix + id);
        order.push_back(id);
      }
      node->output(0).replace(parameter->output(0));
    }
    std::map<std::string, Output<Node>> assigned;
    for (const auto& node : nodes) {
      if (!is_op(node, "Assign")) continue;
      const std::string& id = variable_id(*node);
      if (!variables.count(id))
        refuse_argument("'" + node->get_friendly_name() + "' assigns '" + id + "', which nothing reads");
      assigned[id] = node->input_value(0);
      if (node->get_output_size() > 0) node->output(0).replace(node->input_value(0));
    }
    for (const std::string& id : order) {
      const auto& parameter = variables[id];
      Output<Node> value = assigned.count(id) ? assigned[id] : parameter->output(0);
      if (value.get_element_type() != parameter->get_element_type())
        value = std::make_shared<op::v0::Convert>(value, parameter->get_element_type())->output(0);
      const auto result = std::make_shared<op::v0::Result>(value);
      result->set_friendly_name(kAssignPrefix + id);
      parameters_.push_back(parameter);
      results_.push_back(result);
      fill_input(inputs.emplace_back(), *parameter);
      fill_output(outputs.emplace_back(), *result);
      outputs.back().name = outputs.back().friendly_name = kAssignPrefix + id;
      for (Argument* argument : {&inputs.back(), &outputs.back()}) {
        argument->role = Argument::Role::kState;
        argument->tensor_names.clear();
      }
    }
  }

  static std::size_t rank_of(const Argument& argument) {
    if (argument.shape.rank().is_dynamic()) refuse_argument("input '" + argument.name + "' has a dynamic rank");
    return argument.shape.size();
  }

  const Model& model_;
  const BuildFlags& flags_;
  ParameterVector parameters_;
  ResultVector results_;
};

void check_bounds(const Argument& argument) {
  if (argument.shape.rank().is_dynamic())
    throw Error(Code::kUnimplemented, "NPU: '" + argument.name + "' has a dynamic rank, which is not supported");
  for (const Dimension& extent : argument.shape)
    if (extent.get_max_length() < 0)
      refuse_argument("Upper bounds are not specified for '" + argument.name + "' " + argument.shape.to_string() +
                      ": reshape the model so that every extent has one");
}

/// Finds the outputs' shapes; their upper bounds are the shapes for the largest inputs.
void find_output_shapes(const Model& model, std::vector<Argument>& outputs) {
  if (is_static(model)) {
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].shape = model.get_output_partial_shape(i);
    return;
  }
  const auto largest = model.clone();
  std::map<std::size_t, PartialShape> shapes;
  for (std::size_t i = 0; i < model.get_parameters().size(); ++i)
    shapes[i] = PartialShape(model.get_parameters()[i]->get_partial_shape().get_max_shape());
  largest->reshape(shapes);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].role == Argument::Role::kState) continue;
    const PartialShape& open = model.get_output_partial_shape(i);
    const PartialShape& bound = largest->get_output_partial_shape(i);
    if (bound.rank().is_dynamic())
      throw Error(Code::kUnimplemented,
                  "NPU: output '" + outputs[i].name + "' has a dynamic rank, which is not supported");
    PartialShape& shape = outputs[i].shape;
    shape = bound;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      const Dimension mine = open.rank().is_static() && open.size() == bound.size() ? open[k] : Dimension();
      const auto max = bound[k].get_max_length();
      if (max < 0)
        throw Error(Code::kUnimplemented, "NPU: Upper bounds are not specified for output '" + outputs[i].name + "' " +
                                              bound.to_string() + ": its shape depends on values");
      if (mine.is_dynamic()) shape[k] = Dimension(std::min(mine.get_min_length(), max), max);
    }
  }
}

/// A state's two arguments share the client's memory: both get the shape that the variable may have.
void take_state_shapes(const Model& model, const std::vector<Argument>& inputs, std::vector<Argument>& outputs) {
  const auto first = [](const std::vector<Argument>& arguments) {
    return std::find_if(arguments.begin(), arguments.end(),
                        [](const Argument& argument) { return argument.role == Argument::Role::kState; });
  };
  auto input = first(inputs);
  for (auto output = outputs.begin() + (first(outputs) - outputs.cbegin()); output != outputs.end();
       ++output, ++input) {
    const auto assigned = model.get_output_partial_shape(static_cast<std::size_t>(output - outputs.begin()));
    if (!assigned.compatible(input->shape))
      refuse_argument("'" + output->name + "' is " + assigned.to_string() + ", and its variable " +
                      input->shape.to_string());
    output->shape = input->shape;
  }
}

void add_shapes(std::vector<Argument>& arguments, std::size_t offset) {
  const std::size_t count = arguments.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i].role != Argument::Role::kPort || arguments[i].shape.is_static()) continue;
    Argument shape;
    shape.name = shape.friendly_name = kShapePrefix + arguments[i].name;
    shape.is_input = arguments[i].is_input;
    shape.role = Argument::Role::kShape;
    shape.network_type = shape.type = ElementType::kI32;
    shape.shape = PartialShape(Shape{arguments[i].shape.size()});
    shape.network_layout = shape.layout = "C";
    shape.port = static_cast<std::uint32_t>(offset + i);
    arguments.push_back(std::move(shape));
  }
}

}  // namespace

Shape Argument::max_shape() const { return shape.get_max_shape(); }

bool is_static(const Model& model) {
  for (const auto& node : model.get_ordered_ops())
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      if (node->get_output_partial_shape(i).is_dynamic() || node->get_output_element_type(i).is_dynamic()) return false;
  return true;
}

Interface make_interface(std::shared_ptr<Model>& model, const BuildFlags& flags) {
  Interface made;
  std::vector<Argument> inputs, outputs;
  model = Builder(*model, flags).run(inputs, outputs, made.initialisers);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].shape = model->get_parameters()[i]->get_partial_shape();
    check_bounds(inputs[i]);
  }
  if (flags.options.dynamic_to_static && !is_static(*model)) {
    std::map<std::size_t, PartialShape> largest;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      largest[i] = inputs[i].shape = PartialShape(inputs[i].shape.get_max_shape());
    model->reshape(largest);
  }
  find_output_shapes(*model, outputs);
  take_state_shapes(*model, inputs, outputs);
  const auto number = [](std::vector<Argument>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i].port = static_cast<std::uint32_t>(i);
  };
  number(inputs);
  number(outputs);
  add_shapes(inputs, 0);
  add_shapes(outputs, inputs.size());
  inputs.insert(inputs.end(), std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end()));
  made.arguments = std::move(inputs);
  return made;
}

}  // namespace tenon::npu::compiler
