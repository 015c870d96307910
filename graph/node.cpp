// SPDX-License-Identifier: Apache-2.0
// Nodes: connections, names, schema checks, inference.
#include <tenon/graph/node.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/internal/schema.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace descriptor {
void Tensor::set_tensor_type(element::Type type, PartialShape shape) {
  type_ = type;
  shape_ = std::move(shape);
  is_static_ = shape_.is_static();
  static_shape_ = is_static_ ? shape_.to_shape() : Shape();
}
void Tensor::set_names(const std::unordered_set<std::string>& names) { names_ = names; }
void Tensor::add_names(const std::unordered_set<std::string>& names) { names_.insert(names.begin(), names.end()); }
void Tensor::set_bounds(std::vector<ValueBound> bounds) { bounds_ = std::move(bounds); }
const Shape& Tensor::get_shape() const {
  if (!is_static_)
    throw Error(Code::kFailedPrecondition,
                "shape " + shape_.to_string() + " is dynamic; a static shape is needed here");
  return static_shape_;
}
std::size_t Tensor::size() const { return (element_count(get_shape()) * type_.bitwidth() + 7) / 8; }
std::string Tensor::get_any_name() const {
  if (names_.empty()) throw Error(Code::kNotFound, "this tensor has no name");
  return *std::min_element(names_.begin(), names_.end());
}
}  // namespace descriptor

namespace {
std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// By value as the constructor for users, which hands them on.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Node::Node(const Operation& operation, OutputVector inputs, Attributes attributes, Deferred)
    : operation_(&operation), sources_(std::make_unique<Sources>()), serial_(next_serial()) {
  sources_->outputs = std::move(inputs);
  unique_name_ = operation.type + "_" + std::to_string(serial_);
  try {
    check_inputs(operation, sources());
    attributes_ = checked_attributes(operation, attributes);
  } catch (const Error&) {
    rethrow_naming(describe());
  }
  sources_->places.reserve(sources().size());
  try {
    while (sources_->places.size() < sources().size()) attach(sources_->places.size());
  } catch (...) {
    for (std::size_t i = sources_->places.size(); i-- > 0;) detach(i);
    throw;
  }
}

Node::Node(const Operation& operation, OutputVector inputs, Attributes attributes)
    : Node(operation, std::move(inputs), std::move(attributes), Deferred{}) {
  constructor_validate_and_infer_types();
}

OutputVector Node::input_values() const { return sources(); }

Node::~Node() {
  for (std::size_t i = 0; i < sources().size(); ++i) detach(i);
  // Chains may be a million nodes long, so sources are released one after the other, not recursively. Nothing is
  // allocated, because models are also released when memory is short.
  static thread_local std::unique_ptr<Sources>* pending = nullptr;
  if (pending) {
    sources_->next = std::move(*pending);
    *pending = std::move(sources_);
    return;
  }
  std::unique_ptr<Sources> open = std::move(sources_);
  pending = &open;
  while (open) {
    const std::unique_ptr<Sources> one = std::exchange(open, std::move(open->next));
    one->outputs.clear();
  }
  pending = nullptr;
}

void Node::constructor_validate_and_infer_types() { validate_and_infer_types(); }

void Node::validate_and_infer_types() {
  try {
    if (operation_->infer) operation_->infer(*this);
    propagate_values(*this);
  } catch (const std::exception&) {
    rethrow_naming(describe());
  }
}

Node::Readers& Node::readers_of(std::size_t input) const {
  const Output<Node>& source = sources()[input];
  return source.get_node()->outputs_[source.get_index()].readers;
}
/// Inputs are attached in order.
void Node::attach(std::size_t index) {
  Readers& readers = readers_of(index);
  Readers one;
  one.emplace_back(this, index);
  sources_->places.push_back(one.begin());
  readers.splice(readers.end(), one);  // Nothing can fail from here on.
}
void Node::detach(std::size_t index) noexcept { readers_of(index).erase(sources_->places[index]); }

std::string Node::describe() const {
  return operation_->type + " node '" + get_friendly_name() + "' (" + operation_->version + ")";
}

const DiscreteTypeInfo& Node::get_type_info() const { return operation_->type_info; }
const char* Node::get_type_name() const { return operation_->type.c_str(); }

void Node::set_attribute(std::string_view attribute, Attribute value) {
  const AttributeSpec* spec = operation_->find_attribute(attribute);
  if (!spec) throw Error(Code::kInvalidArgument, describe() + ": unknown attribute '" + std::string(attribute) + "'");
  try {
    attributes_.set(attribute, checked_attribute(*spec, std::move(value)));
  } catch (const Error&) {
    rethrow_naming(describe());
  }
}

namespace {
[[noreturn]] void no_such_port(const Node& node, const char* what, std::size_t index, std::size_t count) {
  throw Error(Code::kOutOfRange, node.describe() + ": there is no " + what + " " + std::to_string(index) + "; it has " +
                                     std::to_string(count));
}
}  // namespace

const Node::Port& Node::port(std::size_t index) const {
  if (index >= outputs_.size()) no_such_port(*this, "output", index, outputs_.size());
  return outputs_[index];
}
Input<Node> Node::input(std::size_t index) {
  if (index >= sources().size()) no_such_port(*this, "input", index, sources().size());
  return {this, index};
}
Input<const Node> Node::input(std::size_t index) const {
  if (index >= sources().size()) no_such_port(*this, "input", index, sources().size());
  return {this, index};
}
std::vector<Input<Node>> Node::inputs() {
  std::vector<Input<Node>> all;
  for (std::size_t i = 0; i < sources().size(); ++i) all.emplace_back(this, i);
  return all;
}
std::vector<Input<const Node>> Node::inputs() const {
  std::vector<Input<const Node>> all;
  for (std::size_t i = 0; i < sources().size(); ++i) all.emplace_back(this, i);
  return all;
}
Output<Node> Node::output(std::size_t index) {
  port(index);
  return {shared_from_this(), index};
}
Output<const Node> Node::output(std::size_t index) const {
  port(index);
  return {shared_from_this(), index};
}
std::vector<Output<Node>> Node::outputs() {
  std::vector<Output<Node>> all;
  for (std::size_t i = 0; i < outputs_.size(); ++i) all.emplace_back(shared_from_this(), i);
  return all;
}
std::vector<Output<const Node>> Node::outputs() const {
  std::vector<Output<const Node>> all;
  for (std::size_t i = 0; i < outputs_.size(); ++i) all.emplace_back(shared_from_this(), i);
  return all;
}
Output<Node> Node::input_value(std::size_t index) const {
  if (index >= sources().size()) no_such_port(*this, "input", index, sources().size());
  return sources()[index];
}
Node* Node::get_input_node_ptr(std::size_t index) const { return input_value(index).get_node(); }
std::shared_ptr<Node> Node::get_input_node_shared_ptr(std::size_t index) const {
  return input_value(index).get_node_shared_ptr();
}
descriptor::Tensor& Node::get_output_tensor(std::size_t index) const { return *port(index).tensor; }
descriptor::Tensor& Node::get_input_tensor(std::size_t index) const {
  if (index >= sources().size()) no_such_port(*this, "input", index, sources().size());
  return sources()[index].get_tensor();
}
const element::Type& Node::get_input_element_type(std::size_t index) const {
  return get_input_tensor(index).get_element_type();
}
const PartialShape& Node::get_input_partial_shape(std::size_t index) const {
  return get_input_tensor(index).get_partial_shape();
}
const element::Type& Node::get_output_element_type(std::size_t index) const {
  return get_output_tensor(index).get_element_type();
}
const PartialShape& Node::get_output_partial_shape(std::size_t index) const {
  return get_output_tensor(index).get_partial_shape();
}
const Shape& Node::get_input_shape(std::size_t index) const { return get_input_tensor(index).get_shape(); }
const Shape& Node::get_output_shape(std::size_t index) const { return get_output_tensor(index).get_shape(); }

std::set<Input<Node>> Node::get_output_target_inputs(std::size_t index) const {
  std::set<Input<Node>> all;
  for (const auto& [node, input] : port(index).readers) all.emplace(node, input);
  return all;
}
NodeVector Node::get_users() const {
  NodeVector users;
  std::unordered_set<Node*> seen;
  for (const Port& output : outputs_) {
    for (const auto& user : output.readers) {
      if (seen.insert(user.first).second) users.push_back(user.first->shared_from_this());
    }
  }
  return users;
}
bool Node::has_readers() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Port& p) { return !p.readers.empty(); });
}
bool Node::is_dynamic() const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [](const Port& p) { return p.tensor->get_partial_shape().is_dynamic(); });
}

void Node::set_argument(std::size_t index, const Output<Node>& source) {
  if (index >= sources().size()) no_such_port(*this, "input", index, sources().size());
  if (!source.get_node())
    throw Error(Code::kInvalidArgument,
                describe() + ": input " + std::to_string(index) + " cannot be left unconnected");
  static_cast<void>(source.get_node()->port(source.get_index()));  // Throws for an output that does not exist.
  const Output<Node> previous = sources()[index];  // Kept until the end, because it may keep `source` alive.
  Readers& left = readers_of(index);
  sources_->outputs[index] = source;
  Readers& joined = readers_of(index);
  joined.splice(joined.end(), left, sources_->places[index]);
  after_arguments_change();
}
void Node::append_argument(const Output<Node>& source) {
  if (sources().size() >= operation_->max_inputs || !source.get_node())
    throw Error(Code::kInvalidArgument, describe() + ": the input is not connected, or no further input is allowed");
  static_cast<void>(source.get_node()->port(source.get_index()));
  sources_->outputs.push_back(source);
  try {
    attach(sources().size() - 1);
  } catch (...) {
    sources_->outputs.pop_back();
    throw;
  }
}
void Node::set_arguments(const OutputVector& arguments) {
  if (arguments.size() != sources().size()) {
    throw Error(Code::kInvalidArgument, describe() + ": expected " + std::to_string(sources().size()) +
                                            " arguments, found " + std::to_string(arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) set_argument(i, arguments[i]);
}

void Node::set_output_size(std::size_t count) {
  if (count < outputs_.size()) {
    for (std::size_t i = count; i < outputs_.size(); ++i) {
      if (!outputs_[i].readers.empty()) {
        throw Error(Code::kInvalidArgument, "output " + std::to_string(i) + " would vanish, but " +
                                                outputs_[i].readers.front().first->describe() + " reads it");
      }
    }
  }
  const std::size_t before = outputs_.size();
  outputs_.resize(count);
  for (std::size_t i = before; i < count; ++i) outputs_[i].tensor = std::make_shared<descriptor::Tensor>();
}
void Node::set_output_type(std::size_t index, element::Type type, const PartialShape& shape) {
  if (index >= outputs_.size()) set_output_size(index + 1);
  if (shape.is_static() && !checked_size_bytes(type, shape.to_shape())) {
    throw Error(Code::kInvalidArgument, "output " + std::to_string(index) + ": shape " + shape.to_string() + " of " +
                                            type.to_string() + " exceeds what memory can hold");
  }
  outputs_[index].tensor->set_tensor_type(type, shape);
}
void Node::share_output_tensor(std::size_t index, std::shared_ptr<descriptor::Tensor> tensor) {
  if (index >= outputs_.size()) set_output_size(index + 1);
  outputs_[index].tensor = std::move(tensor);
}

bool is_op(const Node* node, std::string_view type) { return node && node->get_type_info().name == type; }

}  // namespace v1
}  // namespace tenon
