// SPDX-License-Identifier: Apache-2.0
// Nodes, their ports, and models.
#include <algorithm>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <unordered_map>

#include <openvino/core/graph_util.hpp>
#include <openvino/core/model.hpp>
#include <openvino/core/node.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/passes/compress.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include "convert.hpp"

namespace ov {

using detail::from;
using detail::guarded;
using detail::model_of;
using detail::to;

namespace detail {

std::recursive_mutex& wrappers_mutex() {
  static auto* mutex = new std::recursive_mutex;  // Nodes may go after everything static.
  return *mutex;
}
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// The wrapper of each node that has one.
std::unordered_map<const tenon::Node*, Node*>& wrappers() {
  static auto* map = new std::unordered_map<const tenon::Node*, Node*>;
  return *map;
}
Node* known_wrapper(const tenon::Node* node) {
  const auto found = wrappers().find(node);
  return found == wrappers().end() ? nullptr : found->second;
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

/// rt_info of ov: read once, then the program's; written back before Tenon uses it.
RTMap& read_rt_info(RTMap& map, bool& read, const tenon::RTMap& source) {
  const Lock lock(wrappers_mutex());
  if (!read) map = from(source);
  read = true;
  return map;
}
void store(const RTMap& map, bool& read, tenon::RTMap& target) {
  if (!read) return;
  for (auto entry = target.begin(); entry != target.end();)
    entry = map.count(entry->first) ? std::next(entry) : target.erase(entry);
  for (const auto& [key, value] : map) {
    const auto old = target.find(key);
    // What Tenon has is kept if it looks the same, since it may have a type that ov has no word for.
    if (old == target.end() || from(old->second).as<std::string>() != value.as<std::string>()) target[key] = to(value);
  }
}

}  // namespace

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

std::shared_ptr<Model> from(std::shared_ptr<tenon::Model> model) {
  if (!model) return nullptr;
  auto impl = std::make_unique<Model::Impl>();
  impl->model = std::move(model);
  return std::make_shared<Model>(std::move(impl));
}
const std::shared_ptr<tenon::Model>& model_of(const std::shared_ptr<const Model>& model) {
  if (!model) OPENVINO_THROW("the model is null");
  store_rt_info(*model);
  return model->impl().model;
}
void store_rt_info(const Model& model) {
  const Lock lock(wrappers_mutex());
  Model::Impl& impl = model.impl();
  store(impl.rt_info, impl.rt_read, impl.model->get_rt_info());
  guarded([&] {
    for (const auto& node : impl.model->get_ordered_ops()) {
      Node* wrapper = known_wrapper(node.get());
      if (!wrapper) continue;
      Node::Impl& each = wrapper->impl();
      store(each.rt_info, each.rt_read, node->get_rt_info());
      for (const auto& tensor : each.tensors)
        if (tensor) store(tensor->impl().rt_info, tensor->impl().rt_read, tensor->impl().tensor->get_rt_info());
    }
  });
}

namespace {
template <typename To, typename From>
std::vector<std::shared_ptr<To>> list_of(const std::vector<std::shared_ptr<From>>& nodes) {
  std::vector<std::shared_ptr<To>> result;
  for (const auto& node : nodes)
    result.push_back(std::static_pointer_cast<To>(from(std::shared_ptr<tenon::Node>(node))));
  return result;
}
template <typename To, typename From>
std::vector<std::shared_ptr<To>> nodes_of(const std::vector<std::shared_ptr<From>>& nodes) {
  std::vector<std::shared_ptr<To>> result;
  for (const auto& node : nodes) {
    if (!node) OPENVINO_THROW("a node is null");
    result.push_back(std::static_pointer_cast<To>(node->impl().node));
  }
  return result;
}
template <typename T, typename From>
std::vector<Output<T>> ports_of(const std::vector<From>& ports) {
  std::vector<Output<T>> result;
  for (const auto& port : ports) result.push_back(from(port));
  return result;
}
/// Reads the model's lists again after a change.
void refresh(Model::Impl& impl) {
  impl.parameters = list_of<op::v0::Parameter>(impl.model->get_parameters());
  impl.results = list_of<op::v0::Result>(impl.model->get_results());
  impl.sinks = list_of<Node>(impl.model->get_sinks());
}
}  // namespace
void read_again(const Model& model) {
  const Lock lock(wrappers_mutex());
  refresh(model.impl());
  model.impl().rt_read = false;
  guarded([&] {
    for (const auto& node : model.impl().model->get_ordered_ops()) {
      Node* wrapper = known_wrapper(node.get());
      if (!wrapper) continue;
      wrapper->impl().rt_read = false;
      for (const auto& tensor : wrapper->impl().tensors)
        if (tensor) tensor->impl().rt_read = false;
    }
  });
}
}  // namespace detail

using detail::Lock;

// ---------------------------------------------------------------- layouts
Layout::Layout() : impl_(std::make_shared<Impl>()) {}
Layout::Layout(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Layout::Layout(const std::string& text)
    : impl_(guarded([&] { return std::make_shared<Impl>(Impl{tenon::Layout(text)}); })) {}
Layout detail::from(tenon::Layout layout) {
  return Layout(std::make_shared<const Layout::Impl>(Layout::Impl{std::move(layout)}));
}
Layout Layout::scalar() { return detail::from(tenon::Layout::scalar()); }
bool Layout::operator==(const Layout& other) const { return impl_->layout == other.impl_->layout; }
bool Layout::has_name(const std::string& name) const { return impl_->layout.has_name(name); }
std::int64_t Layout::get_index_by_name(const std::string& name) const {
  return guarded([&] { return impl_->layout.get_index_by_name(name); });
}
std::string Layout::to_string() const { return impl_->layout.to_string(); }
namespace layout {
#define OV_TENON_AXIS(name)                                                               \
  bool has_##name(const Layout& layout) { return tenon::layout::has_##name(to(layout)); } \
  std::int64_t name##_idx(const Layout& layout) {                                         \
    return guarded([&] { return tenon::layout::name##_idx(to(layout)); });                \
  }
OV_TENON_AXIS(batch)
OV_TENON_AXIS(channels)
OV_TENON_AXIS(depth)
OV_TENON_AXIS(height)
OV_TENON_AXIS(width)
#undef OV_TENON_AXIS
void set_layout(Output<Node> output, const Layout& layout) {
  const Lock lock(detail::wrappers_mutex());
  descriptor::Tensor::Impl& impl = output.get_tensor().impl();
  detail::store(impl.rt_info, impl.rt_read, impl.tensor->get_rt_info());
  guarded([&] { tenon::layout::set_layout(to(output), to(layout)); });
  impl.rt_read = false;
}
Layout get_layout(const Output<Node>& output) {
  return guarded([&] { return from(tenon::layout::get_layout(to(output))); });
}
Layout get_layout(const Output<const Node>& output) {
  return guarded([&] { return from(tenon::layout::get_layout(to(output))); });
}
}  // namespace layout

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
void Output<Node>::replace(const Output<Node>& replacement) {
  guarded([&] { to(*this).replace(to(replacement)); });
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
  out << port.get_node()->get_type_name() << '[' << port.get_node()->get_friendly_name() << "]:" << port.get_index();
  return out << ": " << port.get_element_type() << port.get_partial_shape();
}
}  // namespace
std::ostream& operator<<(std::ostream& out, const Output<Node>& output) { return print_port(out, output); }
std::ostream& operator<<(std::ostream& out, const Output<const Node>& output) { return print_port(out, output); }

// ---------------------------------------------------------------- nodes
Node::Impl::~Impl() {
  const Lock lock(detail::wrappers_mutex());
  const auto found = detail::wrappers().find(node.get());
  if (found != detail::wrappers().end() && found->second == wrapper) detail::wrappers().erase(found);
}
Node::Node(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  const Lock lock(detail::wrappers_mutex());
  impl_->wrapper = this;
  detail::wrappers()[impl_->node.get()] = this;
}
Node::~Node() = default;
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
Output<Node> Node::get_default_output() {
  OPENVINO_ASSERT(get_output_size() == 1, get_friendly_name(), " has ", get_output_size(), " outputs: say which");
  return output(0);
}
Output<const Node> Node::get_default_output() const {
  OPENVINO_ASSERT(get_output_size() == 1, get_friendly_name(), " has ", get_output_size(), " outputs: say which");
  return output(0);
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
NodeVector Node::get_users(bool) const { return detail::list_of<Node>(impl_->node->get_users()); }
void Node::set_argument(std::size_t index, const Output<Node>& source) {
  guarded([&] { impl_->node->set_argument(index, to(source)); });
}
void Node::set_arguments(const OutputVector& sources) {
  guarded([&] { impl_->node->set_arguments(to(sources)); });
}
void Node::validate_and_infer_types() {
  guarded([&] { impl_->node->validate_and_infer_types(); });
}
std::shared_ptr<Node> Node::clone_with_new_inputs(const OutputVector& inputs) const {
  return guarded([&] { return from(impl_->node->clone_with_new_inputs(to(inputs))); });
}
bool Node::has_evaluate() const { return impl_->node->operation().evaluate != nullptr; }
namespace {
/// Tensors for Tenon's kernels: empty ones stay empty.
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
}  // namespace
bool Node::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  return guarded([&] {
    tenon::TensorVector computed = tensors_of(outputs);
    computed.resize(get_output_size());
    const bool done = impl_->node->evaluate(computed, tensors_of(inputs));
    if (done) store_outputs(outputs, computed);
    return done;
  });
}
bool Node::operator<(const Node& other) const {
  return tenon::Output<tenon::Node>(impl_->node, 0) < tenon::Output<tenon::Node>(other.impl_->node, 0);
}
std::ostream& operator<<(std::ostream& out, const Node& node) {
  out << node.get_type_info().get_version() << "::" << node.get_type_name() << ' ' << node.get_friendly_name() << " (";
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
std::ostream& operator<<(std::ostream& out, const Node* node) { return node ? out << *node : out << "nullptr"; }

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
    : Node(make<tenon::op::v0::Parameter>({}, to(type), to(shape))) {}
void Parameter::set_partial_shape(const PartialShape& shape) {
  guarded([&] { as<tenon::op::v0::Parameter>(*this).set_partial_shape(to(shape)); });
}
void Parameter::set_element_type(const element::Type& type) {
  guarded([&] { as<tenon::op::v0::Parameter>(*this).set_element_type(to(type)); });
}
Layout Parameter::get_layout() const {
  return guarded([&] { return from(as<tenon::op::v0::Parameter>(*this).get_layout()); });
}
void Parameter::set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
Result::Result(const Output<Node>& source) : Node(make<tenon::op::v0::Result>({source}, to(source))) {}
Layout Result::get_layout() const {
  return guarded([&] { return from(as<tenon::op::v0::Result>(*this).get_layout()); });
}
void Result::set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
Constant::Constant(const Tensor& tensor) : Node(make<tenon::op::v0::Constant>({}, to(tensor))) {}
Constant::Constant(const element::Type& type, const Shape& shape, const void* data)
    : Node(make<tenon::op::v0::Constant>({}, to(type), to(shape), data)) {}
Constant::Constant(const element::Type& type, const Shape& shape, const std::vector<double>& values)
    : Node(make<tenon::op::v0::Constant>({}, to(type), to(shape), values)) {}
Constant::Constant(const element::Type& type, const Shape& shape, const std::vector<std::int64_t>& values)
    : Node(make<tenon::op::v0::Constant>({}, to(type), to(shape), values)) {}
std::size_t Constant::get_byte_size() const { return as<tenon::op::v0::Constant>(*this).get_byte_size(); }
const void* Constant::get_data_ptr() const {
  return guarded([&] { return as<tenon::op::v0::Constant>(*this).get_data_ptr(); });
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

// ---------------------------------------------------------------- models
namespace {
template <typename... Args>
std::unique_ptr<Model::Impl> new_model(Args&&... args) {
  return guarded([&] {
    auto impl = std::make_unique<Model::Impl>();
    impl->model = std::make_shared<tenon::Model>(std::forward<Args>(args)...);
    return impl;
  });
}
tenon::ResultVector to_results(const ResultVector& results) { return detail::nodes_of<tenon::op::v0::Result>(results); }
/// An output of a Result stands for that Result; others get one.
tenon::ResultVector results_for(const OutputVector& outputs) {
  return guarded([&] {
    tenon::ResultVector results;
    for (const tenon::Output<tenon::Node>& output : to(outputs)) {
      auto result = std::dynamic_pointer_cast<tenon::op::v0::Result>(output.get_node_shared_ptr());
      results.push_back(result ? result : std::make_shared<tenon::op::v0::Result>(output));
    }
    return results;
  });
}
tenon::ParameterVector to_parameters(const ParameterVector& parameters) {
  return detail::nodes_of<tenon::op::v0::Parameter>(parameters);
}
}  // namespace
Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { detail::refresh(*impl_); }
Model::Model(const OutputVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(new_model(results_for(results), to_parameters(parameters), name)) {}
Model::Model(const std::shared_ptr<Node>& result, const ParameterVector& parameters, const std::string& name)
    : Model(OutputVector(result ? result->outputs() : OutputVector()), parameters, name) {}
Model::Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(new_model(to_results(results), to_parameters(parameters), name)) {}
Model::Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(new_model(to_results(results), detail::nodes_of<tenon::Node>(sinks), to_parameters(parameters), name)) {}
Model::Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(new_model(results_for(results), detail::nodes_of<tenon::Node>(sinks), to_parameters(parameters), name)) {}
Model::~Model() = default;

const std::string& Model::get_name() const { return impl_->model->get_name(); }
const std::string& Model::get_friendly_name() const { return impl_->model->get_friendly_name(); }
void Model::set_friendly_name(const std::string& name) { impl_->model->set_friendly_name(name); }
std::shared_ptr<Model> Model::clone() const {
  detail::store_rt_info(*this);
  return guarded([&] { return from(impl_->model->clone()); });
}

#define OV_TENON_PORTS(name)                                                                              \
  std::vector<Output<Node>> Model::name##s() {                                                            \
    return guarded([&] { return detail::ports_of<Node>(impl_->model->name##s()); });                      \
  }                                                                                                       \
  Output<Node> Model::name() {                                                                            \
    return guarded([&] { return from(impl_->model->name()); });                                           \
  }                                                                                                       \
  Output<Node> Model::name(std::size_t index) {                                                           \
    return guarded([&] { return from(impl_->model->name(index)); });                                      \
  }                                                                                                       \
  Output<Node> Model::name(const std::string& tensor_name) {                                              \
    return guarded([&] { return from(impl_->model->name(tensor_name)); });                                \
  }                                                                                                       \
  std::vector<Output<const Node>> Model::name##s() const {                                                \
    return guarded([&] { return detail::ports_of<const Node>(std::as_const(*impl_->model).name##s()); }); \
  }                                                                                                       \
  Output<const Node> Model::name() const {                                                                \
    return guarded([&] { return from(std::as_const(*impl_->model).name()); });                            \
  }                                                                                                       \
  Output<const Node> Model::name(std::size_t index) const {                                               \
    return guarded([&] { return from(std::as_const(*impl_->model).name(index)); });                       \
  }                                                                                                       \
  Output<const Node> Model::name(const std::string& tensor_name) const {                                  \
    return guarded([&] { return from(std::as_const(*impl_->model).name(tensor_name)); });                 \
  }
OV_TENON_PORTS(input)
OV_TENON_PORTS(output)
#undef OV_TENON_PORTS

namespace {
/// Changes a model, and reads its lists again.
template <typename F>
auto changed(Model::Impl& impl, F&& change) {
  return guarded([&] {
    if constexpr (std::is_void_v<decltype(change())>) {
      change();
      detail::refresh(impl);
    } else {
      auto result = change();
      detail::refresh(impl);
      return result;
    }
  });
}
}  // namespace
Output<Node> Model::add_output(const std::string& tensor_name) {
  return changed(*impl_, [&] { return from(impl_->model->add_output(tensor_name)); });
}
Output<Node> Model::add_output(const std::string& op_name, std::size_t output_index) {
  for (const auto& node : get_ops())
    if (node->get_friendly_name() == op_name) return add_output(node->output(output_index));
  OPENVINO_THROW("the model ", get_friendly_name(), " has no node of the name ", op_name);
}
Output<Node> Model::add_output(const Output<Node>& port) {
  return changed(*impl_, [&] { return from(impl_->model->add_output(to(port))); });
}
void Model::reshape(const PartialShape& shape) {
  guarded([&] { impl_->model->reshape(to(shape)); });
}
namespace {
template <typename Key, typename Result = Key>
std::map<Result, tenon::PartialShape> shapes_of(const std::map<Key, PartialShape>& shapes) {
  std::map<Result, tenon::PartialShape> result;
  for (const auto& [key, shape] : shapes) {
    if constexpr (std::is_same_v<Key, Result>)
      result.emplace(key, to(shape));
    else
      result.emplace(to(key), to(shape));
  }
  return result;
}
}  // namespace
void Model::reshape(const std::map<std::size_t, PartialShape>& shapes) {
  guarded([&] { impl_->model->reshape(shapes_of(shapes)); });
}
void Model::reshape(const std::map<std::string, PartialShape>& shapes) {
  guarded([&] { impl_->model->reshape(shapes_of(shapes)); });
}
void Model::reshape(const std::map<Output<Node>, PartialShape>& shapes) {
  guarded([&] { impl_->model->reshape(shapes_of<Output<Node>, tenon::Output<tenon::Node>>(shapes)); });
}
std::size_t Model::get_output_size() const { return impl_->results.size(); }
const element::Type& Model::get_output_element_type(std::size_t index) const {
  return output(index).get_element_type();
}
const Shape& Model::get_output_shape(std::size_t index) const { return output(index).get_shape(); }
const PartialShape& Model::get_output_partial_shape(std::size_t index) const {
  return output(index).get_partial_shape();
}
std::shared_ptr<Node> Model::get_output_op(std::size_t index) const {
  return std::const_pointer_cast<Node>(output(index).get_node_shared_ptr());
}
std::shared_ptr<Node> Model::get_result() const {
  OPENVINO_ASSERT(impl_->results.size() == 1, "the model has ", impl_->results.size(), " outputs");
  return impl_->results.front();
}
std::vector<std::shared_ptr<Node>> Model::get_ordered_ops() const {
  return guarded([&] {
    auto nodes = detail::list_of<Node>(impl_->model->get_ordered_ops());
    for (const auto& node : nodes) node->input_values();  // Keeps the wrappers as long as the model.
    return nodes;
  });
}
std::vector<std::shared_ptr<Node>> Model::get_ops() const { return get_ordered_ops(); }
std::size_t Model::get_graph_size() const { return impl_->model->get_ordered_ops().size(); }
bool Model::is_dynamic() const { return impl_->model->is_dynamic(); }
void Model::validate_nodes_and_infer_types() const {
  guarded([&] { impl_->model->validate_nodes_and_infer_types(); });
}
const ParameterVector& Model::get_parameters() const { return impl_->parameters; }
const ResultVector& Model::get_results() const { return impl_->results; }
const SinkVector& Model::get_sinks() const { return impl_->sinks; }
std::int64_t Model::get_parameter_index(const std::shared_ptr<op::v0::Parameter>& parameter) const {
  const auto found = std::find(impl_->parameters.begin(), impl_->parameters.end(), parameter);
  return found == impl_->parameters.end() ? -1 : found - impl_->parameters.begin();
}
std::int64_t Model::get_result_index(const Output<Node>& value) const {
  return guarded([&] { return impl_->model->get_result_index(to(value)); });
}
std::int64_t Model::get_result_index(const Output<const Node>& value) const {
  return get_result_index(Output<Node>(std::const_pointer_cast<Node>(value.get_node_shared_ptr()), value.get_index()));
}
void Model::replace_parameter(std::size_t index, const std::shared_ptr<op::v0::Parameter>& parameter) {
  changed(*impl_, [&] { impl_->model->replace_parameter(index, to_parameters({parameter}).front()); });
}
void Model::add_results(const ResultVector& results) {
  changed(*impl_, [&] { impl_->model->add_results(to_results(results)); });
}
void Model::remove_result(const std::shared_ptr<op::v0::Result>& result) {
  changed(*impl_, [&] { impl_->model->remove_result(to_results({result}).front()); });
}
void Model::add_parameters(const ParameterVector& parameters) {
  changed(*impl_, [&] { impl_->model->add_parameters(to_parameters(parameters)); });
}
void Model::remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter) {
  changed(*impl_, [&] { impl_->model->remove_parameter(to_parameters({parameter}).front()); });
}
void Model::add_sinks(const SinkVector& sinks) {
  changed(*impl_, [&] { impl_->model->add_sinks(detail::nodes_of<tenon::Node>(sinks)); });
}
bool Model::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  return guarded([&] {
    store_outputs(outputs, tenon::evaluate(*impl_->model, tensors_of(inputs)));
    return true;
  });
}
RTMap& Model::get_rt_info() {
  return detail::read_rt_info(impl_->rt_info, impl_->rt_read, impl_->model->get_rt_info());
}
const RTMap& Model::get_rt_info() const { return const_cast<Model*>(this)->get_rt_info(); }
namespace {
const Any* find_value(const RTMap& map, const std::vector<std::string>& path) {
  const RTMap* level = &map;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto found = level->find(path[i]);
    if (found == level->end()) return nullptr;
    if (i + 1 == path.size()) return &found->second;
    if (!found->second.is<AnyMap>()) return nullptr;
    level = &found->second.as<AnyMap>();
  }
  return nullptr;
}
}  // namespace
bool Model::has_rt_info(const std::vector<std::string>& path) const {
  return find_value(get_rt_info(), path) != nullptr;
}
const Any& Model::rt_value(const std::vector<std::string>& path) const {
  const Any* found = find_value(get_rt_info(), path);
  if (!found) OPENVINO_THROW("Cannot get runtime attribute. Path to runtime attribute is incorrect.");
  return *found;
}
Any& Model::new_rt_value(const std::vector<std::string>& path) {
  OPENVINO_ASSERT(!path.empty(), "the path of a value in rt_info is empty");
  RTMap* level = &get_rt_info();
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    Any& next = (*level)[path[i]];
    if (next.empty()) next = AnyMap();
    level = &next.as<AnyMap>();
  }
  return (*level)[path.back()];
}
std::ostream& operator<<(std::ostream& out, const Model& model) {
  const auto ports = [&](const char* name, const auto& list) {
    out << name << ": [\n";
    for (const auto& port : list) out << "  " << port << "\n";
    out << "]";
  };
  out << "<Model: '" << model.get_friendly_name() << "'\n";
  ports("inputs", model.inputs());
  out << "\n";
  ports("outputs", model.outputs());
  return out << ">";
}
namespace {
/// The axis N of each input whose layout has one.
std::vector<std::pair<Output<const Node>, std::size_t>> batch_axes(const Model& model) {
  std::vector<std::pair<Output<const Node>, std::size_t>> axes;
  for (const auto& input : model.inputs()) {
    const Layout layout = layout::get_layout(input);
    if (!layout::has_batch(layout)) continue;
    const std::int64_t axis = layout::batch_idx(layout);
    axes.emplace_back(input, axis < 0 ? static_cast<std::size_t>(axis) + input.get_partial_shape().size()
                                      : static_cast<std::size_t>(axis));
  }
  OPENVINO_ASSERT(!axes.empty(), "[ get_batch ] no input of the model '", model.get_friendly_name(),
                  "' has a layout with N: set it by ov::layout::set_layout");
  return axes;
}
}  // namespace
Dimension get_batch(const std::shared_ptr<const Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  Dimension batch;
  for (const auto& [input, axis] : batch_axes(*model)) {
    OPENVINO_ASSERT(Dimension::merge(batch, batch, input.get_partial_shape()[static_cast<std::ptrdiff_t>(axis)]),
                    "get_batch: the inputs have different batches, ", input, " among them");
  }
  return batch;
}
void set_batch(const std::shared_ptr<Model>& model, Dimension batch_size) {
  OPENVINO_ASSERT(model, "the model is null");
  std::map<Output<Node>, PartialShape> shapes;
  for (const auto& input : model->inputs()) shapes[input] = input.get_partial_shape();
  for (const auto& [input, axis] : batch_axes(*model)) {
    for (auto& [port, shape] : shapes)
      if (port.get_node() == input.get_node()) shape[static_cast<std::ptrdiff_t>(axis)] = batch_size;
  }
  model->reshape(shapes);
}

void serialize(const std::shared_ptr<const Model>& model, const std::filesystem::path& xml_path,
               const std::filesystem::path& bin_path) {
  guarded([&] { tenon::serialize(*model_of(model), xml_path, bin_path); });
}
void save_model(const std::shared_ptr<const Model>& model, const std::filesystem::path& output_model,
                bool compress_to_fp16) {
  guarded([&] {
    const auto copy = model_of(model)->clone();
    if (compress_to_fp16) tenon::pass::compress_to_f16(*copy);
    tenon::serialize(*copy, output_model);
  });
}
pass::PassBase::~PassBase() = default;
bool pass::ConstantFolding::run_on_model(const std::shared_ptr<Model>& model) {
  return guarded([&] {
    const auto& there = model_of(model);
    const bool changed =
        tenon::pass::Manager().add(tenon::pass::fold_constants({false, false, std::size_t{1} << 62})).run(there);
    detail::read_again(*model);
    return changed;
  });
}
void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  OPENVINO_ASSERT(target && replacement, "replace_node of null");
  OPENVINO_ASSERT(target->get_output_size() == replacement->get_output_size(), "replace_node: ", *target, " has ",
                  target->get_output_size(), " outputs, ", *replacement, " ", replacement->get_output_size());
  for (std::size_t i = 0; i < target->get_output_size(); ++i) target->output(i).replace(replacement->output(i));
}

}  // namespace ov
