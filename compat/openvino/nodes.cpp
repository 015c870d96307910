// SPDX-License-Identifier: Apache-2.0
// Nodes and their ports.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <sstream>
#include <unordered_map>

#include <openvino/core/node.hpp>
#include <openvino/op/ops.hpp>
#include <tenon/core/adopt_bytes.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>

#include "graph.hpp"

namespace ov {

using detail::from;
using detail::guarded;
using detail::Lock;
using detail::to;

namespace detail {

std::recursive_mutex& wrappers_mutex() {
  static auto* mutex = new std::recursive_mutex;  // Nodes may go after everything static.
  return *mutex;
}
namespace {

/// The wrapper of each node that has one.
std::unordered_map<const tenon::Node*, Node*>& wrappers() {
  static auto* map = new std::unordered_map<const tenon::Node*, Node*>;
  return *map;
}
/// Names of operations that live as long as the process, as DiscreteTypeInfo needs them.
const DiscreteTypeInfo& interned(const tenon::DiscreteTypeInfo& info) {
  static auto* known = new std::map<std::pair<std::string, std::string>, DiscreteTypeInfo>;
  const Lock lock(wrappers_mutex());
  const auto [entry, added] =
      known->try_emplace({std::string(info.name), std::string(info.version_id)}, DiscreteTypeInfo());
  if (added) entry->second = DiscreteTypeInfo(entry->first.first.c_str(), entry->first.second.c_str());
  return entry->second;
}

}  // namespace
Node* known_wrapper(const tenon::Node* node) {
  const auto found = wrappers().find(node);
  return found == wrappers().end() ? nullptr : found->second;
}

std::shared_ptr<Node> from(const std::shared_ptr<tenon::Node>& node) {
  if (!node) return nullptr;
  const Lock lock(wrappers_mutex());
  if (Node* known = known_wrapper(node.get())) {
    if (auto held = known->weak_from_this().lock()) return held;
  }
  return typed(made(node));
}
std::shared_ptr<Node::Impl> made(std::shared_ptr<tenon::Node> node, const OutputVector& inputs) {
  auto impl = std::make_shared<Node::Impl>(std::move(node));
  for (const Output<Node>& input : inputs) impl->kept.push_back(input.get_node_shared_ptr());
  return impl;
}
Output<const Node> from(const tenon::Output<const tenon::Node>& port) {
  return {from(std::const_pointer_cast<tenon::Node>(port.get_node_shared_ptr())), port.get_index()};
}
namespace {
template <typename T>
const std::shared_ptr<tenon::Node>& node_of(const Output<T>& port) {
  if (!port.get_node()) OPENVINO_THROW("an empty port: it has no node");
  return port.get_node()->impl().node;
}
}  // namespace
tenon::Output<tenon::Node> to(const Output<Node>& port) { return {node_of(port), port.get_index()}; }
tenon::Output<const tenon::Node> to(const Output<const Node>& port) {
  return {std::shared_ptr<const tenon::Node>(node_of(port)), port.get_index()};
}
tenon::OutputVector to(const OutputVector& ports) {
  tenon::OutputVector result;
  for (const Output<Node>& port : ports) result.push_back(to(port));
  return result;
}

tenon::TensorVector tensors_of(const TensorVector& tensors) {
  tenon::TensorVector result;
  for (const Tensor& tensor : tensors) result.push_back(tensor ? to(tensor) : tenon::Tensor());
  return result;
}
void store_outputs(TensorVector& outputs, const tenon::TensorVector& computed) {
  outputs.resize(computed.size());
  for (std::size_t i = 0; i < computed.size(); ++i) {
    if (!outputs[i]) {
      outputs[i] = from(computed[i]);
    } else if (computed[i].memory() != outputs[i].impl()->tensor.memory()) {
      from(computed[i]).copy_to(outputs[i]);
    }
  }
}
}  // namespace detail

// ---------------------------------------------------------------- ports
descriptor::Tensor::Tensor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
descriptor::Tensor::~Tensor() = default;
namespace {
/// The cached value, renewed if it has changed.
template <typename T>
const T& renewed(T& cached, T now) {
  const Lock lock(detail::wrappers_mutex());
  if (!(cached == now)) cached = std::move(now);
  return cached;
}
}  // namespace
const element::Type& descriptor::Tensor::get_element_type() const {
  return renewed(impl_->type, from(static_cast<tenon::ElementType>(impl_->tensor->get_element_type())));
}
const PartialShape& descriptor::Tensor::get_partial_shape() const {
  return renewed(impl_->partial_shape, from(impl_->tensor->get_partial_shape()));
}
const Shape& descriptor::Tensor::get_shape() const { return renewed(impl_->shape, get_partial_shape().to_shape()); }
std::size_t descriptor::Tensor::size() const {
  return guarded([&] { return impl_->tensor->size(); });
}
const std::unordered_set<std::string>& descriptor::Tensor::get_names() const { return impl_->tensor->get_names(); }
const std::string& descriptor::Tensor::get_any_name() const {
  if (get_names().empty()) OPENVINO_THROW("Attempt to get a name for a Tensor without names");
  return renewed(impl_->any_name, guarded([&] { return impl_->tensor->get_any_name(); }));
}
void descriptor::Tensor::set_names(const std::unordered_set<std::string>& names) {
  guarded([&] { impl_->tensor->set_names(names); });
}
void descriptor::Tensor::add_names(const std::unordered_set<std::string>& names) {
  guarded([&] { impl_->tensor->add_names(names); });
}
RTMap& descriptor::Tensor::get_rt_info() {
  return detail::read_rt_info(impl_->rt_info, impl_->rt_read, impl_->tensor->get_rt_info());
}
const RTMap& descriptor::Tensor::get_rt_info() const { return const_cast<Tensor*>(this)->get_rt_info(); }

Output<Node>::Output(Node* node, std::size_t index) : node_(node ? node->shared_from_this() : nullptr), index_(index) {}
Output<const Node>::Output(const Node* node, std::size_t index)
    : node_(node ? node->shared_from_this() : nullptr), index_(index) {}
namespace {
template <typename T>
T& checked(const std::shared_ptr<T>& node) {
  if (!node) OPENVINO_THROW("an empty port: it has no node");
  return *node;
}
}  // namespace
descriptor::Tensor& Output<Node>::get_tensor() const { return checked(node_).get_output_tensor(index_); }
descriptor::Tensor& Output<const Node>::get_tensor() const { return checked(node_).get_output_tensor(index_); }
std::shared_ptr<descriptor::Tensor> Output<Node>::get_tensor_ptr() const { return {node_, &get_tensor()}; }
std::shared_ptr<descriptor::Tensor> Output<const Node>::get_tensor_ptr() const { return {node_, &get_tensor()}; }
const element::Type& Output<Node>::get_element_type() const { return get_tensor().get_element_type(); }
const element::Type& Output<const Node>::get_element_type() const { return get_tensor().get_element_type(); }
const Shape& Output<Node>::get_shape() const { return get_tensor().get_shape(); }
const Shape& Output<const Node>::get_shape() const { return get_tensor().get_shape(); }
const PartialShape& Output<Node>::get_partial_shape() const { return get_tensor().get_partial_shape(); }
const PartialShape& Output<const Node>::get_partial_shape() const { return get_tensor().get_partial_shape(); }
RTMap& Output<Node>::get_rt_info() { return get_tensor().get_rt_info(); }
const RTMap& Output<Node>::get_rt_info() const { return get_tensor().get_rt_info(); }
const RTMap& Output<const Node>::get_rt_info() const { return get_tensor().get_rt_info(); }
const std::unordered_set<std::string>& Output<Node>::get_names() const { return get_tensor().get_names(); }
const std::unordered_set<std::string>& Output<const Node>::get_names() const { return get_tensor().get_names(); }
std::string Output<Node>::get_any_name() const { return get_tensor().get_any_name(); }
std::string Output<const Node>::get_any_name() const { return get_tensor().get_any_name(); }
void Output<Node>::set_names(const std::unordered_set<std::string>& names) { get_tensor().set_names(names); }
void Output<Node>::add_names(const std::unordered_set<std::string>& names) { get_tensor().add_names(names); }
std::set<Input<Node>> Output<Node>::get_target_inputs() const {
  return checked(node_).get_output_target_inputs(index_);
}
std::set<Input<Node>> Output<const Node>::get_target_inputs() const {
  return checked(node_).get_output_target_inputs(index_);
}
namespace {
/// A reader that reads something else keeps that, and no longer what it read before.
void keep(const tenon::Input<tenon::Node>& reader, const Output<Node>& source) {
  const Lock lock(detail::wrappers_mutex());
  Node* wrapper = detail::known_wrapper(reader.get_node());
  if (!wrapper) return;
  auto& kept = wrapper->impl().kept;
  kept.resize(std::max(kept.size(), reader.get_index() + 1));
  kept[reader.get_index()] = source.get_node_shared_ptr();
}
}  // namespace
void Output<Node>::replace(const Output<Node>& replacement) {
  guarded([&] {
    const auto readers = to(*this).get_target_inputs();
    to(*this).replace(to(replacement));
    for (const auto& reader : readers) keep(reader, replacement);
  });
}
bool Output<Node>::operator<(const Output& other) const {
  return node_ == other.node_ ? index_ < other.index_ : node_ && other.node_ ? *node_ < *other.node_ : !node_;
}
bool Output<const Node>::operator<(const Output& other) const {
  return node_ == other.node_ ? index_ < other.index_ : node_ && other.node_ ? *node_ < *other.node_ : !node_;
}
namespace {
template <typename T>
std::ostream& print_port(std::ostream& out, const Output<T>& port) {
  if (!port.get_node()) return out << "nullptr[" << port.get_index() << "]";
  port.get_node()->write_description(out, 0);
  return out << '[' << port.get_index() << "]:" << port.get_element_type() << port.get_partial_shape();
}
}  // namespace
std::ostream& operator<<(std::ostream& out, const Output<Node>& output) { return print_port(out, output); }
std::ostream& operator<<(std::ostream& out, const Output<const Node>& output) { return print_port(out, output); }

// ---------------------------------------------------------------- nodes
Node::Impl::~Impl() {
  const Lock lock(detail::wrappers_mutex());
  const auto found = detail::wrappers().find(node.get());
  if (found == detail::wrappers().end() || found->second != wrapper) return;
  detail::wrappers().erase(found);
  try {  // The node may live on in a model, which has what the program wrote.
    detail::store(rt_info, rt_read, node->get_rt_info());
    for (const auto& tensor : tensors)
      if (tensor) detail::store(tensor->impl().rt_info, tensor->impl().rt_read, tensor->impl().tensor->get_rt_info());
  } catch (...) {
  }
}
void Node::Impl::change(std::shared_ptr<tenon::Node> to) {
  const Lock lock(detail::wrappers_mutex());
  if (node->has_friendly_name()) to->set_friendly_name(node->get_friendly_name());
  detail::store(rt_info, rt_read, to->get_rt_info());
  detail::wrappers()[to.get()] = wrapper;
  detail::wrappers().erase(node.get());
  node = std::move(to);
}
Node::Node(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  if (!impl_) {
    OPENVINO_THROW_NOT_IMPLEMENTED(
        "an operation of the program's own is refused: Tenon's devices compute the operations of openvino/op/ops.hpp. "
        "Build it of these");
  }
  const Lock lock(detail::wrappers_mutex());
  impl_->wrapper = this;
  detail::wrappers()[impl_->node.get()] = this;
}
Node::~Node() { clear_control_dependencies(); }
const DiscreteTypeInfo& Node::get_type_info() const { return detail::interned(impl_->node->get_type_info()); }
const std::string& Node::get_name() const { return impl_->node->get_name(); }
const std::string& Node::get_friendly_name() const { return impl_->node->get_friendly_name(); }
void Node::set_friendly_name(const std::string& name) { impl_->node->set_friendly_name(name); }
bool Node::is_dynamic() const { return impl_->node->is_dynamic(); }
RTMap& Node::get_rt_info() { return detail::read_rt_info(impl_->rt_info, impl_->rt_read, impl_->node->get_rt_info()); }
const RTMap& Node::get_rt_info() const { return const_cast<Node*>(this)->get_rt_info(); }
std::size_t Node::get_input_size() const { return impl_->node->get_input_size(); }
std::size_t Node::get_output_size() const { return impl_->node->get_output_size(); }
std::vector<Input<Node>> Node::inputs() {
  std::vector<Input<Node>> result;
  for (std::size_t i = 0; i < get_input_size(); ++i) result.emplace_back(this, i);
  return result;
}
std::vector<Input<const Node>> Node::inputs() const {
  std::vector<Input<const Node>> result;
  for (std::size_t i = 0; i < get_input_size(); ++i) result.emplace_back(this, i);
  return result;
}
Input<Node> Node::input(std::size_t index) {
  OPENVINO_ASSERT(index < get_input_size(), "index '", index, "' out of range in input of ", get_friendly_name());
  return {this, index};
}
Input<const Node> Node::input(std::size_t index) const {
  OPENVINO_ASSERT(index < get_input_size(), "index '", index, "' out of range in input of ", get_friendly_name());
  return {this, index};
}
std::vector<Output<Node>> Node::outputs() {
  std::vector<Output<Node>> result;
  for (std::size_t i = 0; i < get_output_size(); ++i) result.emplace_back(shared_from_this(), i);
  return result;
}
std::vector<Output<const Node>> Node::outputs() const {
  std::vector<Output<const Node>> result;
  for (std::size_t i = 0; i < get_output_size(); ++i) result.emplace_back(shared_from_this(), i);
  return result;
}
Output<Node> Node::output(std::size_t index) {
  OPENVINO_ASSERT(index < get_output_size(), "index '", index, "' out of range in output of ", get_friendly_name());
  return {shared_from_this(), index};
}
Output<const Node> Node::output(std::size_t index) const {
  OPENVINO_ASSERT(index < get_output_size(), "index '", index, "' out of range in output of ", get_friendly_name());
  return {shared_from_this(), index};
}
Output<Node> Node::get_default_output() { return output(get_default_output_index()); }
Output<const Node> Node::get_default_output() const { return output(get_default_output_index()); }
std::size_t Node::no_default_index() const {
  OPENVINO_THROW(get_friendly_name(), " has ", get_output_size(), " outputs, and no default output: say which");
}
std::size_t Node::get_instance_id() const {
  const std::string& name = get_name();  // Unique by the number at its end.
  return std::stoull(name.substr(name.rfind('_') + 1));
}
RTMap& Node::rt_info_of_input(std::size_t index) const {
  OPENVINO_ASSERT(index < get_input_size(), "index '", index, "' out of range in input of ", get_friendly_name());
  return impl_->inputs_rt_info[index];
}
Output<Node> Node::input_value(std::size_t index) const {
  return guarded([&] {
    Output<Node> source = from(impl_->node->input_value(index));
    const Lock lock(detail::wrappers_mutex());
    impl_->kept.resize(std::max(impl_->kept.size(), index + 1));
    impl_->kept[index] = source.get_node_shared_ptr();
    return source;
  });
}
std::vector<Output<Node>> Node::input_values() const {
  std::vector<Output<Node>> result;
  for (std::size_t i = 0; i < get_input_size(); ++i) result.push_back(input_value(i));
  return result;
}
descriptor::Tensor& Node::get_output_tensor(std::size_t index) const {
  return guarded([&]() -> descriptor::Tensor& {
    const auto tensor = impl_->node->output(index).get_tensor_ptr();
    const Lock lock(detail::wrappers_mutex());
    auto& tensors = impl_->tensors;
    tensors.resize(std::max(tensors.size(), index + 1));
    if (!tensors[index] || tensors[index]->impl().tensor != tensor) {
      auto impl = std::make_unique<descriptor::Tensor::Impl>();
      impl->tensor = tensor;
      tensors[index] = std::make_shared<descriptor::Tensor>(std::move(impl));
    }
    return *tensors[index];
  });
}
std::set<Input<Node>> Node::get_output_target_inputs(std::size_t index) const {
  return guarded([&] {
    std::set<Input<Node>> result;
    for (const auto& input : impl_->node->get_output_target_inputs(index))
      result.emplace(from(input.get_node()->shared_from_this()).get(), input.get_index());
    return result;
  });
}
NodeVector Node::get_users(bool check_is_used) const {
  NodeVector users = detail::list_of<Node>(impl_->node->get_users());
  if (check_is_used)
    users.erase(std::remove_if(users.begin(), users.end(), [](const auto& user) { return !detail::is_used(*user); }),
                users.end());
  return users;
}
void Node::set_argument(std::size_t index, const Output<Node>& source) {
  if (impl_->unfinished && index == get_input_size()) {
    OutputVector sources = input_values();
    sources.push_back(source);
    return detail::give_inputs(*impl_, sources);
  }
  guarded([&] {
    impl_->node->set_argument(index, to(source));
    keep(impl_->node->input(index), source);
  });
}
void Node::set_arguments(const NodeVector& sources) { set_arguments(as_output_vector(sources)); }
void Node::set_arguments(const OutputVector& sources) {
  if (impl_->unfinished) return detail::give_inputs(*impl_, sources);
  guarded([&] { impl_->node->set_arguments(to(sources)); });
}
void Node::validate_and_infer_types() {
  guarded([&] {
    if (impl_->unfinished)
      detail::finish(*impl_);
    else
      impl_->node->validate_and_infer_types();
  });
}
void Node::set_output_size(std::size_t count) {
  guarded([&] { impl_->node->set_output_size(count); });
}
void Node::set_output_type(std::size_t index, const element::Type& type, const PartialShape& shape) {
  guarded([&] { impl_->node->set_output_type(index, to(type), to(shape)); });
}
op::AutoBroadcastSpec Node::get_autob() const {
  const tenon::Attribute* found = impl_->node->get_attributes().find("auto_broadcast");
  if (!found) return {};
  return op::AutoBroadcastSpec(std::get<std::string>(found->value()).c_str());
}
std::shared_ptr<Node> Node::copy_with_new_inputs(const OutputVector& inputs,
                                                 const NodeVector& control_dependencies) const {
  auto copy = clone_with_new_inputs(inputs);
  for (const auto& node : control_dependencies) copy->add_control_dependency(node);
  return copy;
}
std::shared_ptr<Node> Node::clone_with_new_inputs(const OutputVector& inputs) const {
  return guarded([&] { return from(impl_->node->clone_with_new_inputs(to(inputs))); });
}
bool Node::has_evaluate() const { return impl_->node->operation().evaluate != nullptr; }
bool Node::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  return guarded([&] {
    tenon::TensorVector computed = detail::tensors_of(outputs);
    computed.resize(get_output_size());
    const bool done = impl_->node->evaluate(computed, detail::tensors_of(inputs));
    if (done) detail::store_outputs(outputs, computed);
    return done;
  });
}
bool Node::evaluate(TensorVector& outputs, const TensorVector& inputs, const EvaluationContext&) const {
  return evaluate(outputs, inputs);
}
bool Node::operator<(const Node& other) const {
  return tenon::Output<tenon::Node>(impl_->node, 0) < tenon::Output<tenon::Node>(other.impl_->node, 0);
}
std::ostream& detail::write_ports(std::ostream& out, const Node& node) {
  out << " (";
  const char* separator = "";
  for (const auto& source : node.input_values()) {
    out << separator << source;
    separator = ", ";
  }
  out << ") -> (";
  separator = "";
  for (const auto& output : node.outputs()) {
    out << separator << output.get_element_type() << output.get_partial_shape();
    separator = ", ";
  }
  return out << ')';
}
std::ostream& operator<<(std::ostream& out, const Node& node) { return node.write_description(out, 1); }
std::ostream& Node::write_description(std::ostream& out, std::uint32_t depth) const {
  out << get_type_info().get_version() << "::" << get_type_name() << ' ' << get_friendly_name();
  return depth == 0 ? out : detail::write_ports(out, *this);
}
bool Node::can_constant_fold(const OutputVector& inputs_values) const {
  return has_evaluate() && std::all_of(inputs_values.begin(), inputs_values.end(), [](const Output<Node>& value) {
           return is_type<op::v0::Constant>(value.get_node_shared_ptr());
         });
}
bool Node::constant_fold(OutputVector& output_values, const OutputVector& inputs_values) {
  if (!can_constant_fold(inputs_values)) return false;
  TensorVector inputs, outputs(get_output_size());
  for (const Output<Node>& value : inputs_values)
    inputs.push_back(static_cast<const op::v0::Constant&>(*value.get_node()).get_tensor_view());
  if (!evaluate(outputs, inputs)) return false;
  output_values.clear();
  for (const Tensor& output : outputs) output_values.push_back(std::make_shared<op::v0::Constant>(output));
  return true;
}
const NodeVector& Node::get_control_dependencies() const { return impl_->control_dependencies; }
const std::vector<Node*>& Node::get_control_dependents() const { return impl_->control_dependents; }
namespace {
template <typename T, typename Value>
void remove_from(std::vector<T>& all, const Value& value) {
  all.erase(std::remove(all.begin(), all.end(), value), all.end());
}
}  // namespace
void Node::add_control_dependency(std::shared_ptr<Node> node) {
  OPENVINO_ASSERT(node && node.get() != this, "a control dependency of ", get_friendly_name(), " is null, or the node");
  auto& all = impl_->control_dependencies;
  if (std::find(all.begin(), all.end(), node) != all.end()) return;
  node->impl().control_dependents.push_back(this);
  all.push_back(std::move(node));
}
void Node::remove_control_dependency(std::shared_ptr<Node> node) {
  OPENVINO_ASSERT(node, "a control dependency of ", get_friendly_name(), " is null");
  remove_from(node->impl().control_dependents, this);
  remove_from(impl_->control_dependencies, node);
}
void Node::clear_control_dependencies() {
  for (const auto& node : impl_->control_dependencies) remove_from(node->impl().control_dependents, this);
  impl_->control_dependencies.clear();
}
void Node::clear_control_dependents() {
  for (Node* node : std::vector<Node*>(impl_->control_dependents)) node->remove_control_dependency(shared_from_this());
}
void Node::add_node_control_dependencies(const std::shared_ptr<const Node>& source_node) {
  OPENVINO_ASSERT(source_node, "a node is null");
  for (const auto& node : NodeVector(source_node->get_control_dependencies())) add_control_dependency(node);
}
void Node::add_node_control_dependents(const std::shared_ptr<const Node>& source_node) {
  OPENVINO_ASSERT(source_node, "a node is null");
  for (Node* node : std::vector<Node*>(source_node->get_control_dependents()))
    node->add_control_dependency(shared_from_this());
}
void Node::transfer_control_dependents(std::shared_ptr<Node> replacement) {
  OPENVINO_ASSERT(replacement, "a node is null");
  replacement->add_node_control_dependents(shared_from_this());
  clear_control_dependents();
}
bool op::util::input_sources_are_equal(const std::shared_ptr<Node>& node1, const std::shared_ptr<Node>& node2,
                                       std::size_t input_index) {
  OPENVINO_ASSERT(node1 && node2, "a node is null");
  return node1->input_value(input_index) == node2->input_value(input_index);
}
void check_new_args_count(const Node* node, const OutputVector& new_args) {
  NODE_VALIDATION_CHECK(node, new_args.size() == node->get_input_size(), "clone_with_new_inputs() expected ",
                        node->get_input_size(), " argument", node->get_input_size() == 1 ? "" : "s", " but got ",
                        new_args.size());
}
std::string node_validation_failure_loc_string(const Node* node) {
  return detail::joined("While validating node '", *node, "'");
}
std::ostream& operator<<(std::ostream& out, const Node* node) { return node ? out << *node : out << "nullptr"; }

NodeValidationFailure::~NodeValidationFailure() = default;
void NodeValidationFailure::create(const char* file, int line, const char* check_string, const Node* node,
                                   const std::string& explanation) {
  throw NodeValidationFailure(make_what(file, line, check_string,
                                        node ? detail::joined("While validating node '", *node, "'") : std::string(),
                                        explanation));
}

namespace op {
namespace v0 {
namespace {
template <typename T, typename... Args>
std::shared_ptr<Node::Impl> make(const OutputVector& inputs, Args&&... args) {
  return guarded([&] { return detail::made(std::make_shared<T>(std::forward<Args>(args)...), inputs); });
}
template <typename T>
T& as(const Node& node) {
  return static_cast<T&>(*node.impl().node);
}
}  // namespace
Parameter::Parameter(const element::Type& type, const PartialShape& shape)
    : Op(make<tenon::op::v0::Parameter>({}, to(type), to(shape))) {}
void Parameter::set_partial_shape(const PartialShape& shape) {
  guarded([&] { as<tenon::op::v0::Parameter>(*this).set_partial_shape(to(shape)); });
}
void Parameter::set_element_type(const element::Type& type) {
  guarded([&] { as<tenon::op::v0::Parameter>(*this).set_element_type(to(type)); });
}
Layout Parameter::get_layout() const { return layout::get_layout(output(0)); }
void Parameter::set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
Result::Result(const Output<Node>& source) : Op(make<tenon::op::v0::Result>({source}, to(source))) {}
Layout Result::get_layout() const { return layout::get_layout(output(0)); }
void Result::set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
Constant::Constant(const Tensor& tensor) : Op(make<tenon::op::v0::Constant>({}, to(tensor))) {}
Constant::Constant(const element::Type& type, const Shape& shape, const void* data)
    : Op(make<tenon::op::v0::Constant>({}, to(type), to(shape), data)) {}
Constant::Constant(const element::Type& type, const Shape& shape, const std::vector<double>& values)
    : Op(make<tenon::op::v0::Constant>({}, to(type), to(shape), values)) {}
Constant::Constant(const element::Type& type, const Shape& shape, const std::vector<std::int64_t>& values)
    : Op(make<tenon::op::v0::Constant>({}, to(type), to(shape), values)) {}
Constant::Constant(const element::Type& type, const Shape& shape, const std::vector<std::string>& values)
    : Constant([&] {
        OPENVINO_ASSERT(type == element::string, "texts for a Constant of ", type);
        Tensor tensor(type, shape);
        OPENVINO_ASSERT(values.size() == 1 || values.size() == tensor.get_size(), "a Constant of ", tensor.get_size(),
                        " elements, and ", values.size(), " texts");
        for (std::size_t i = 0; i < tensor.get_size(); ++i)
          tensor.data<std::string>()[i] = values[values.size() == 1 ? 0 : i];
        return tensor;
      }()) {}
Constant::Constant(const element::Type& type, const Shape& shape)
    : Constant([&] {
        Tensor tensor(type, shape);
        if (type != element::string) std::memset(tensor.data(), 0, tensor.get_byte_size());
        return tensor;
      }()) {}
Constant::Constant(const element::Type& type, const Shape& shape, const void* data, std::shared_ptr<void> so)
    : Constant(guarded([&] {
        const auto bytes = tenon::checked_size_bytes(to(type), to(shape));
        OPENVINO_ASSERT(bytes, "the size of a Constant of shape ", shape, " overflows");
        const auto memory = tenon::adopt_bytes(const_cast<void*>(data), *bytes, true, [so] {});
        return from(tenon::Tensor(tenon::TensorInfo{to(type), to(shape), {}}, tenon::Ref<tenon::Memory>(memory)));
      })) {}
Constant::Constant(const Constant& other) : Constant(other, other.get_shape()) {}
Constant::Constant(const Constant& other, const Shape& new_shape)
    : Constant(guarded([&] {
        const tenon::Tensor& tensor = to(other.get_tensor_view());
        OPENVINO_ASSERT(shape_size(new_shape) == shape_size(other.get_shape()), other, " cannot have the shape ",
                        new_shape);
        return from(tensor.reshaped(to(new_shape)));
      })) {}
std::size_t Constant::get_byte_size() const { return as<tenon::op::v0::Constant>(*this).get_byte_size(); }
const void* Constant::get_data_ptr() const {
  return guarded([&] { return as<tenon::op::v0::Constant>(*this).get_data_ptr(); });
}
namespace {
std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
}  // namespace
std::vector<std::string> Constant::get_value_strings() const {
  std::vector<std::string> texts;
  if (get_element_type() == element::string) {
    for (const std::string& text : get_vector<std::string>()) texts.push_back(text);
  } else if (get_element_type().is_real()) {
    for (const double value : cast_vector<double>()) texts.push_back(text_of(value));
  } else if (get_element_type() == element::u64) {  // As std::int64_t, the upper half would be negative.
    for (const std::uint64_t value : get_vector<std::uint64_t>()) texts.push_back(std::to_string(value));
  } else {
    for (const std::int64_t value : cast_vector<std::int64_t>()) texts.push_back(std::to_string(value));
  }
  return texts;
}
std::string Constant::convert_value_to_string(std::size_t index) const {
  const std::vector<std::string> texts = get_value_strings();
  OPENVINO_ASSERT(index < texts.size(), "element ", index, " of ", *this, ", which has ", texts.size());
  return texts[index];
}
bool Constant::get_all_data_elements_bitwise_identical() const {
  const std::size_t count = shape_size(get_shape()), bits = get_element_type().bitwidth();
  if (count < 2) return count == 1;
  if (get_element_type() == element::string || bits % 8 != 0) {
    const std::vector<std::string> texts = get_value_strings();
    return std::equal(texts.begin() + 1, texts.end(), texts.begin());
  }
  const auto* bytes = static_cast<const char*>(get_data_ptr());
  return std::memcmp(bytes, bytes + bits / 8, (count - 1) * bits / 8) == 0;
}
Tensor Constant::get_tensor_view() const { return from(as<tenon::op::v0::Constant>(*this).get_tensor()); }
std::vector<double> Constant::wide_values(double*) const {
  return guarded([&] { return as<tenon::op::v0::Constant>(*this).to_doubles(); });
}
std::vector<std::int64_t> Constant::wide_values(std::int64_t*) const {
  return guarded([&] { return as<tenon::op::v0::Constant>(*this).to_integers(); });
}
}  // namespace v0
}  // namespace op

}  // namespace ov
