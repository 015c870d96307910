// SPDX-License-Identifier: Apache-2.0
// States: initial values, the driver's form of the model, and the buffers of a request.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <tenon/devices/npu/request.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/initialisers.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// The constant value of an output; empty if it depends on the model's inputs.
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

Shape min_shape(const PartialShape& shape) {
  Shape min;
  for (const Dimension& extent : shape) min.push_back(static_cast<std::size_t>(extent.get_min_length()));
  return min;
}

Variable variable_of(const Node& reader) {
  Variable variable;
  variable.name = variable_id(reader);
  variable.type = reader.get_output_element_type(0);
  variable.shape = reader.get_output_partial_shape(0);
  const bool is_bounded =
      variable.shape.rank().is_static() && std::all_of(variable.shape.begin(), variable.shape.end(),
                                                       [](const Dimension& d) { return d.get_max_length() >= 0; });
  if (!is_bounded)
    throw NotImplemented("NPU: state '" + variable.name + "' has the dynamic shape " + variable.shape.to_string() +
                         " without upper bounds; reshape the model so that its states have them");
  if (reader.get_input_size() == 0) return variable;
  variable.initial = constant_value(reader.input_value(0));
  variable.computed = !variable.initial;
  if (variable.computed) return variable;
  if (variable.initial.element_type() != variable.type) variable.initial = converted(variable.initial, variable.type);
  if (!variable.shape.compatible(PartialShape(variable.initial.shape())))
    throw NotImplemented("NPU: the initialiser of state '" + variable.name + "' is " + to_string(variable.initial) +
                         ", the state " + variable.shape.to_string());
  return variable;
}

/// Readers of each variable, with the variables ordered by their first reader.
struct Readers {
  std::vector<std::string> order;
  std::map<std::string, NodeVector> by_variable;
};
Readers readers_in(const Model& model) {
  Readers readers;
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "ReadValue")) continue;
    NodeVector& same = readers.by_variable[variable_id(*node)];
    if (same.empty()) readers.order.push_back(variable_id(*node));
    same.push_back(node);
  }
  return readers;
}

/// Rewrites a clone of the model for the driver.
class Rewriter {
 public:
  Rewriter(Model& model, const Readers& readers) : model_(model), readers_(readers) {
    for (const auto& sink : model.get_sinks())
      if (is_op(sink.get(), "Assign"))
        assigned_[variable_id(*sink)] = sink;
      else
        sinks_.push_back(sink);
  }
  void take(const Variable& variable) {
    const Attributes attributes{{"variable_id", Attribute(variable.name)},
                                {"variable_type", Attribute(static_cast<ElementType>(variable.type))},
                                {"variable_shape", Attribute(variable.shape)}};
    const NodeVector& readers = readers_.by_variable.at(variable.name);
    const bool is_open = variable.shape.is_dynamic();
    std::shared_ptr<Node> reader;
    if (is_open) {
      parameters_.push_back(std::make_shared<op::v0::Parameter>(variable.type, variable.shape));
      reader = parameters_.back();
      reader->set_friendly_name(std::string(kStateIn) + variable.name);
    } else {
      reader = make_node("ReadValue", 6, {}, attributes, readers.front()->get_friendly_name());
    }
    const auto sink = assigned_.find(variable.name);
    const Output<Node> value = sink == assigned_.end() ? reader->output(0) : sink->second->input_value(0);
    if (sink != assigned_.end() && sink->second->get_output_size() > 0) sink->second->output(0).replace(value);
    if (is_open) {
      // A separate node, so that the argument gets exactly this name.
      const auto named = std::make_shared<op::v0::Convert>(value, variable.type);
      named->set_friendly_name(std::string(kStateOut) + variable.name);
      results_.push_back(std::make_shared<op::v0::Result>(named->output(0)));
      results_.back()->set_friendly_name("result_of_" + named->get_friendly_name());
    } else if (sink != assigned_.end()) {
      sinks_.push_back(make_node("Assign", 6, {value}, attributes, sink->second->get_friendly_name()));
    }
    for (const auto& old : readers) old->output(0).replace(reader->output(0));
  }
  std::shared_ptr<const Model> finish() {
    ResultVector results = model_.get_results();
    results.insert(results.end(), results_.begin(), results_.end());
    ParameterVector parameters = model_.get_parameters();
    parameters.insert(parameters.end(), parameters_.begin(), parameters_.end());
    auto made = std::make_shared<Model>(results, sinks_, parameters, model_.get_name());
    made->set_friendly_name(model_.get_friendly_name());
    made->get_rt_info() = model_.get_rt_info();
    made->validate_nodes_and_infer_types();
    return made;
  }

 private:
  Model& model_;
  const Readers& readers_;
  std::map<std::string, std::shared_ptr<Node>> assigned_;
  SinkVector sinks_;
  ParameterVector parameters_;
  ResultVector results_;
};

}  // namespace

std::shared_ptr<const Model> take_states(const std::shared_ptr<const Model>& model, ModelInfo& info) {
  if (readers_in(*model).order.empty()) return model;
  const auto made = model->clone();
  const Readers readers = readers_in(*made);
  NodeVector computed;
  for (const std::string& name : readers.order) {
    const auto& reader = readers.by_variable.at(name).front();
    info.variables.push_back(variable_of(*reader));
    if (info.variables.back().computed) computed.push_back(reader);
  }
  if (!computed.empty()) info.initialisers = make_initialisers(computed, made->get_parameters());
  Rewriter rewriter(*made, readers);
  for (const Variable& variable : info.variables) rewriter.take(variable);
  return rewriter.finish();
}

State::State(const CompiledModel& owner, std::size_t index)
    : variable_(owner.info().variables[index]), plan_(owner.states()[index]) {
  const auto& arguments = owner.graph()->arguments();
  const Shape largest = variable_.shape.get_max_shape();
  // The graph may write more than the variable can hold.
  const std::size_t room = std::max(arguments[plan_.input].bytes(), arguments[plan_.output].bytes());
  const auto make = [&] { return allocate_tensor(*owner.npu(), variable_.type, largest, false, room); };
  tensor_ = make();
  if (is_growing()) {
    next_ = make();
    for (Tensor* extents : {&extents_, &next_extents_})
      *extents = allocate_tensor(*owner.npu(), ElementType::kI32, Shape{largest.size()}, false);
  }
  reset();
}

void State::reset() {
  is_open_ = variable_.computed;
  if (variable_.initial) return write(variable_.initial);
  if (is_growing()) tensor_.set_shape(min_shape(variable_.shape));
  if (tensor_.size_bytes() > 0) std::memset(tensor_.data(), 0, tensor_.size_bytes());
}

void State::write(const Tensor& value) {
  if (!value || !variable_.shape.compatible(PartialShape(value.shape())))
    throw Error(Code::kInvalidArgument, "NPU: state '" + variable_.name + "' is " + variable_.type.to_string() + ' ' +
                                            variable_.shape.to_string() + ", given was " +
                                            (value ? to_string(value) : std::string("an empty tensor")));
  value.memory()->wait_for(Access::kRead, default_deadline());
  Tensor host;
  if (value.is_host_addressable()) {
    host = value;
  } else if (std::byte* mapped = mapped_address(value)) {
    host = Tensor(value.element_type(), value.shape(), mapped, value.byte_strides());
  } else if (const auto* remote = dynamic_cast<const RemoteMemory*>(value.memory().get())) {  // Another device's.
    host = Tensor(value.element_type(), value.shape());
    remote->copy_to(value, host);
  } else {
    throw Error(Code::kInvalidArgument, "NPU: state '" + variable_.name + "' can't be set from " + to_string(value));
  }
  if (host.element_type() != variable_.type) host = converted(host, variable_.type);
  if (is_growing()) tensor_.set_shape(host.shape());
  copy_strided(host.element_type(), host.shape(), host.data(), host.byte_strides(), tensor_.data(),
               tensor_.byte_strides());
  is_open_ = false;
}

void State::set_state(const Tensor& state) { write(state); }

void State::bind(Commands& commands, std::uint32_t argument, const Tensor& tensor) {
  commands.bind(argument, tensor, static_cast<std::byte*>(tensor.data()), 0, nullptr);
}

void State::bind(Commands& commands) {
  bind(commands, plan_.input, tensor_);
  bind(commands, plan_.output, is_growing() ? next_ : tensor_);
  if (!is_growing()) return;
  const Shape& shape = tensor_.shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    extents_.data<std::int32_t>()[i] = static_cast<std::int32_t>(shape[shape.size() - 1 - i]);
  bind(commands, plan_.input_shape, extents_);
  bind(commands, plan_.output_shape, next_extents_);
}

Shape State::next_shape() const {
  Shape shape(variable_.shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    shape[i] = static_cast<std::size_t>(std::max(next_extents_.data<std::int32_t>()[shape.size() - 1 - i], 0));
  return shape;
}

void State::check_next() const {
  if (is_growing() && !variable_.shape.compatible(PartialShape(next_shape())))
    throw Error(Code::kOutOfRange, "NPU: state '" + variable_.name + "' grew to " + to_string(next_shape()) +
                                       ", and its bounds are " + variable_.shape.to_string() +
                                       "; its value is unchanged");
}

void State::advance() {
  if (!is_growing()) return;
  const Shape shape = next_shape();
  std::swap(tensor_, next_);
  tensor_.set_shape(shape);
}

}  // namespace tenon::inline v1::npu_device
