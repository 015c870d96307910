// SPDX-License-Identifier: Apache-2.0
// States: what the model starts from, and the buffer that a request keeps.
#include <cstring>
#include <set>

#include <tenon/devices/npu/request_internal.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// What a node computes without any input of the model; empty where it needs one.
Tensor constant_value(const Output<Node>& value) {
  std::set<const Node*> seen;
  std::vector<const Node*> open{value.get_node()};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (is_op(node, "Parameter") || is_op(node, "ReadValue")) return {};
    for (std::size_t i = 0; i < node->get_input_size(); ++i) open.push_back(node->get_input_node_ptr(i));
  }
  const auto result = std::make_shared<op::v0::Result>(value);
  const Model part(ResultVector{result}, ParameterVector{}, "initialiser");
  Tensor packed;
  evaluate(part, {}).front().copy_to(packed);
  return packed;
}

/// Converts a host tensor's elements.
Tensor converted(const Tensor& tensor, element::Type type) {
  auto parameter =
      std::make_shared<op::v0::Parameter>(element::Type(tensor.element_type()), PartialShape(tensor.shape()));
  const auto convert = make_node("Convert", 0, {parameter->output(0)}, {{"destination_type", type}});
  const Model model(OutputVector{convert->output(0)}, ParameterVector{parameter}, "convert");
  return evaluate(model, {tensor}).front();
}

}  // namespace

std::vector<Variable> variables_of(const Model& model) {
  std::vector<Variable> variables;
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "ReadValue")) continue;
    Variable variable;
    variable.name = node->get_attributes().get_string("variable_id");
    variable.type = node->get_output_element_type(0);
    const PartialShape& shape = node->get_output_partial_shape(0);
    if (shape.is_dynamic())
      throw NotImplemented("NPU: state '" + variable.name + "' has the dynamic shape " + shape.to_string() +
                           "; reshape the model so that its states are static");
    variable.shape = shape.to_shape();
    if (node->get_input_size() > 0) {
      variable.initial = constant_value(node->input_value(0));
      if (!variable.initial)
        throw NotImplemented("NPU: state '" + variable.name +
                             "' is initialised from the model's inputs, which this device does not do; set the state "
                             "before the first inference instead");
      if (variable.initial.shape() != variable.shape || variable.initial.element_type() != variable.type)
        throw NotImplemented("NPU: the initialiser of state '" + variable.name + "' is " + to_string(variable.initial) +
                             ", the state " + to_string(variable.shape));
    }
    variables.push_back(std::move(variable));
  }
  return variables;
}

State::State(const std::shared_ptr<const Npu>& npu, const Variable& variable)
    : variable_(variable), tensor_(allocate_tensor(*npu, variable.type, variable.shape, false)) {
  reset();
}

void State::reset() {
  if (variable_.initial)
    std::memcpy(tensor_.data(), variable_.initial.data(), tensor_.size_bytes());
  else
    std::memset(tensor_.data(), 0, tensor_.size_bytes());
}

void State::set_state(const Tensor& state) {
  if (!state || state.shape() != variable_.shape)
    throw Error(Code::kInvalidArgument, "NPU: state '" + variable_.name + "' is " + variable_.type.to_string() + ' ' +
                                            to_string(variable_.shape) + ", given was " +
                                            (state ? to_string(state) : std::string("an empty tensor")));
  Tensor host;
  if (state.is_host_addressable())
    host = state;
  else if (std::byte* mapped = mapped_address(state))
    host = Tensor(state.element_type(), state.shape(), mapped, state.byte_strides());
  else
    throw Error(Code::kInvalidArgument, "NPU: state '" + variable_.name + "' can't be set from " + to_string(state));
  if (host.element_type() != variable_.type) host = converted(host, variable_.type);
  copy_strided(host.element_type(), host.shape(), host.data(), host.byte_strides(), tensor_.data(),
               tensor_.byte_strides());
}

}  // namespace tenon::inline v1::npu_device
