// SPDX-License-Identifier: Apache-2.0
// The reference interpreter.
#include <tenon/graph/evaluate.hpp>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/strings.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// Loops over inputs visit nothing where one is empty, and what nothing visits must not be what lay in memory before.
void clear(const Tensor& tensor) {
  // Strings begin empty.
  if (tensor.size_bytes() > 0 && tensor.element_type() != ElementType::kString)
    std::memset(tensor.data(), 0, tensor.size_bytes());
}
void clear_if_unvisited(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (std::none_of(inputs.begin(), inputs.end(),
                   [](const Tensor& input) { return input && input.element_count() == 0; }))
    return;
  for (const Tensor& output : outputs)
    if (output) clear(output);
}
}  // namespace

Tensor zero_tensor(ElementType type, const Shape& shape) {
  Tensor zeros(type, shape);
  clear(zeros);
  return zeros;
}

void evaluate_planned(const Node& node, std::span<const Tensor> inputs, std::span<const Tensor> planned,
                      std::span<Tensor> outputs) {
  clear_if_unvisited(inputs, outputs);
  if (has_strings(node))
    evaluate_strings(node, inputs, outputs);
  else
    node.operation().evaluate(node, inputs, outputs);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (outputs[i].data() == planned[i].data()) continue;
    const Tensor made = std::exchange(outputs[i], planned[i]);
    if (made.element_type() != planned[i].element_type() || made.shape() != planned[i].shape()) {
      throw Error(Code::kInternal, node.describe() + ": output " + std::to_string(i) + " was planned as " +
                                       std::string(name(planned[i].element_type())) + " " +
                                       to_string(planned[i].shape()) + ", its kernel made " +
                                       std::string(name(made.element_type())) + " " + to_string(made.shape()));
    }
    move_tensor(made, planned[i]);
  }
}

namespace {
bool shapes_as_inferred(const Node& node, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const PartialShape& shape = node.get_input_partial_shape(i);
    if (shape.is_dynamic() || !(node.get_input_tensor(i).get_shape() == inputs[i].shape())) return false;
    // The output's shape may have been inferred from this input's value: another value means another shape.
    const auto& value = node.get_input_tensor(i).value();
    if (value && value->element_count() > 0 && value->data() != inputs[i].data()) return false;
  }
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    if (node.get_output_partial_shape(i).is_dynamic()) return false;
  }
  return true;
}

std::vector<Tensor> run_kernel(const Node& node, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs(node.get_output_size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // Shapes that depend on values (NonZero) stay dynamic: the kernel allocates those tensors itself.
    if (node.get_output_partial_shape(i).is_static())
      outputs[i] = Tensor(node.get_output_element_type(i), node.get_output_shape(i));
  }
  evaluate_planned(node, inputs, {}, outputs);
  return outputs;
}
}  // namespace

std::vector<Tensor> evaluate_node(const Node& node, const std::vector<Tensor>& inputs) {
  if (!node.operation().evaluate) {
    throw Error(Code::kUnimplemented, node.describe() + ": the operation has no reference kernel");
  }
  if (inputs.size() != node.get_input_size()) {
    throw Error(Code::kInvalidArgument, node.describe() + ": expected " + std::to_string(node.get_input_size()) +
                                            " tensors, found " + std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const element::Type expected = node.get_input_element_type(i);
    if (!inputs[i] || (!expected.is_dynamic() && !(expected == inputs[i].element_type()))) {
      throw Error(Code::kInvalidArgument,
                  node.describe() + ": input " + std::to_string(i) + ": expected element type " + expected.to_string() +
                      ", found " + (inputs[i] ? std::string(name(inputs[i].element_type())) : "an empty tensor"));
    }
  }
  try {
    if (shapes_as_inferred(node, inputs)) return run_kernel(node, inputs);
    // Infers again from the tensors themselves, to find shapes that depend on values too.
    OutputVector constants;
    for (const Tensor& input : inputs) constants.push_back(std::make_shared<op::v0::Constant>(input)->output(0));
    return run_kernel(*node.clone_with_new_inputs(constants), inputs);
  } catch (const Error& error) {
    const std::string subject = node.describe();
    if (std::string_view(error.what()).substr(0, subject.size()) == subject) throw;
    throw Error(error.code(), subject + ": " + error.what(), error.where());
  } catch (const std::bad_alloc&) {
    throw Error(Code::kResourceExhausted,
                node.describe() + ": there is not enough memory for its intermediate results");
  } catch (const std::length_error&) {
    throw Error(Code::kResourceExhausted, node.describe() + ": its intermediate results exceed what memory can hold");
  } catch (const std::out_of_range&) {
    throw Error(Code::kInvalidArgument, node.describe() + ": a list of values is shorter than the operation needs");
  }
}

namespace {
Tensor initial_state(const Node& node, const std::vector<Tensor>& inputs) {
  if (!inputs.empty()) return inputs[0];
  const PartialShape& shape = node.get_output_partial_shape(0);
  if (shape.rank().is_dynamic()) {
    throw Error(Code::kInvalidArgument,
                node.describe() + ": a state of shape " + shape.to_string() + " needs an initial value");
  }
  // Nothing where the shape is open, as OpenVINO begins a cache.
  Shape min;
  for (const Dimension& extent : shape)
    min.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
  return zero_tensor(node.get_output_element_type(0), min);
}

Tensor owned_copy(const Tensor& tensor) {
  Tensor copy(tensor.element_type(), tensor.shape());
  move_tensor(tensor, copy);
  return copy;
}
}  // namespace

std::vector<Tensor> evaluate(const Model& model, const std::vector<Tensor>& inputs, VariableMap* variables,
                             const NodeHook& hook) {
  return evaluate(model, inputs, variables, hook, {});
}

std::vector<Tensor> evaluate(const Model& model, const std::vector<Tensor>& inputs, VariableMap* variables,
                             const NodeHook& hook, const NodeRunner& runner) {
  const ParameterVector& parameters = model.get_parameters();
  if (inputs.size() != parameters.size()) {
    throw Error(Code::kInvalidArgument, "model '" + model.get_friendly_name() + "' takes " +
                                            std::to_string(parameters.size()) + " inputs, found " +
                                            std::to_string(inputs.size()));
  }
  VariableMap own_state;
  VariableMap& state = variables ? *variables : own_state;
  std::map<std::string, Tensor> assigned;  // Takes effect after the run: reads see the old state.
  std::unordered_map<const Node*, std::vector<Tensor>> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& parameter = *parameters[i];
    const bool fits =
        inputs[i] &&
        (parameter.get_element_type().is_dynamic() || parameter.get_element_type() == inputs[i].element_type()) &&
        parameter.get_partial_shape().compatible(PartialShape(inputs[i].shape()));
    if (!fits) {
      throw Error(Code::kInvalidArgument,
                  parameter.describe() + ": expected " + parameter.get_element_type().to_string() + " " +
                      parameter.get_partial_shape().to_string() + ", found " +
                      (inputs[i] ? std::string(name(inputs[i].element_type())) + " " + to_string(inputs[i].shape())
                                 : std::string("an empty tensor")));
    }
    values[&parameter] = {inputs[i]};
  }
  const NodeVector order = model.get_ordered_ops();
  std::unordered_map<const Node*, std::size_t> readers;  // A value is released after its last reader.
  for (const auto& node : order) {
    for (std::size_t i = 0; i < node->get_input_size(); ++i) ++readers[node->get_input_node_ptr(i)];
  }
  std::vector<Tensor> results;
  for (const auto& node : order) {
    if (is_op(node, "Parameter")) continue;
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Output<Node> source = node->input_value(i);
      arguments.push_back(values.at(source.get_node()).at(source.get_index()));
    }
    std::vector<Tensor>& produced = values[node.get()];
    if (const auto* constant = as_type<op::v0::Constant>(node.get())) {
      produced = {constant->get_tensor()};
    } else if (is_op(node, "Result")) {
      produced = {arguments[0]};
    } else if (is_op(node, "ReadValue")) {
      Tensor& held = state[node->get_attributes().get_string("variable_id")];
      if (!held) held = owned_copy(initial_state(*node, arguments));
      produced = {held};
    } else if (is_op(node, "Assign")) {
      assigned[node->get_attributes().get_string("variable_id")] = owned_copy(arguments[0]);
      produced = {arguments[0]};
    } else if (!runner || !runner(*node, arguments, produced)) {
      produced = evaluate_node(*node, arguments);
    }
    if (hook) hook(*node, produced);
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Node* source = node->get_input_node_ptr(i);
      if (--readers[source] == 0) values.erase(source);
    }
  }
  for (auto& [id, tensor] : assigned) state[id] = std::move(tensor);
  for (const auto& result : model.get_results()) {
    const Tensor& value = values.at(result.get())[0];
    // Results are packed and owned by the caller: never a weight or the caller's own input.
    results.push_back(owned_copy(value));
  }
  return results;
}

bool Node::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  if (!operation_->evaluate) return false;
  TensorVector computed = evaluate_node(*this, inputs);
  if (outputs.size() < computed.size()) outputs.resize(computed.size());
  for (std::size_t i = 0; i < computed.size(); ++i) {
    if (!outputs[i])
      outputs[i] = std::move(computed[i]);
    else
      computed[i].copy_to(outputs[i]);
  }
  return true;
}

}  // namespace v1
}  // namespace tenon
