// SPDX-License-Identifier: Apache-2.0
// Handles on inputs and outputs of nodes.
#include <tenon/core/error.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void check_node(const void* node) {
  if (!node) throw Error(Code::kFailedPrecondition, "this output handle is empty: it belongs to no node");
}
}  // namespace

Output<Node>::Output(Node* node, std::size_t index) : node_(node ? node->shared_from_this() : nullptr), index_(index) {}
Output<Node>::Output(const std::shared_ptr<Node>& node) : node_(node) {
  if (node && node->get_output_size() != 1) {
    throw Error(Code::kInvalidArgument, node->describe() + " has " + std::to_string(node->get_output_size()) +
                                            " outputs: say which one is meant with output(i)");
  }
}

descriptor::Tensor& Output<Node>::get_tensor() const {
  check_node(node_.get());
  return node_->get_output_tensor(index_);
}
std::shared_ptr<descriptor::Tensor> Output<Node>::get_tensor_ptr() const {
  check_node(node_.get());
  return node_->port(index_).tensor;
}
const element::Type& Output<Node>::get_element_type() const { return get_tensor().get_element_type(); }
const Shape& Output<Node>::get_shape() const { return get_tensor().get_shape(); }
const PartialShape& Output<Node>::get_partial_shape() const { return get_tensor().get_partial_shape(); }
const std::unordered_set<std::string>& Output<Node>::get_names() const { return get_tensor().get_names(); }
std::string Output<Node>::get_any_name() const { return get_tensor().get_any_name(); }
void Output<Node>::set_names(const std::unordered_set<std::string>& names) { get_tensor().set_names(names); }
void Output<Node>::add_names(const std::unordered_set<std::string>& names) { get_tensor().add_names(names); }
RTMap& Output<Node>::get_rt_info() { return get_tensor().get_rt_info(); }
const RTMap& Output<Node>::get_rt_info() const { return std::as_const(get_tensor()).get_rt_info(); }
std::set<Input<Node>> Output<Node>::get_target_inputs() const {
  check_node(node_.get());
  return node_->get_output_target_inputs(index_);
}
void Output<Node>::replace(const Output<Node>& replacement) {
  if (*this == replacement) return;
  const Output<Node> self = *this;  // After the last consumer, the node may be destroyed too.
  for (const Input<Node>& input : self.get_target_inputs()) {
    if (input.get_node() != replacement.get_node()) input.replace_source_output(replacement);
  }
  replacement.get_tensor().add_names(self.get_names());
}
bool operator<(const Output<Node>& a, const Output<Node>& b) { return Output<const Node>(a) < Output<const Node>(b); }

Output<const Node>::Output(const Node* node, std::size_t index)
    : node_(node ? node->shared_from_this() : nullptr), index_(index) {}
const descriptor::Tensor& Output<const Node>::get_tensor() const {
  check_node(node_.get());
  return node_->get_output_tensor(index_);
}
const element::Type& Output<const Node>::get_element_type() const { return get_tensor().get_element_type(); }
const Shape& Output<const Node>::get_shape() const { return get_tensor().get_shape(); }
const PartialShape& Output<const Node>::get_partial_shape() const { return get_tensor().get_partial_shape(); }
const std::unordered_set<std::string>& Output<const Node>::get_names() const { return get_tensor().get_names(); }
std::string Output<const Node>::get_any_name() const { return get_tensor().get_any_name(); }
const RTMap& Output<const Node>::get_rt_info() const { return get_tensor().get_rt_info(); }
std::set<Input<Node>> Output<const Node>::get_target_inputs() const {
  check_node(node_.get());
  return node_->get_output_target_inputs(index_);
}
bool operator<(const Output<const Node>& a, const Output<const Node>& b) {
  // Empty handles first; then nodes in order of creation, so that sets are the same in every run.
  if (!a.node_ || !b.node_) return !a.node_ && b.node_;
  if (a.node_ != b.node_) return a.node_->serial_ < b.node_->serial_;
  return a.index_ < b.index_;
}

const element::Type& Input<Node>::get_element_type() const { return node_->get_input_element_type(index_); }
const Shape& Input<Node>::get_shape() const { return node_->get_input_shape(index_); }
const PartialShape& Input<Node>::get_partial_shape() const { return node_->get_input_partial_shape(index_); }
Output<Node> Input<Node>::get_source_output() const { return node_->input_value(index_); }
descriptor::Tensor& Input<Node>::get_tensor() const { return node_->get_input_tensor(index_); }
void Input<Node>::replace_source_output(const Output<Node>& source) const { node_->set_argument(index_, source); }
bool operator<(const Input<Node>& a, const Input<Node>& b) {
  if (a.node_ != b.node_) return a.node_->serial_ < b.node_->serial_;
  return a.index_ < b.index_;
}

const element::Type& Input<const Node>::get_element_type() const { return node_->get_input_element_type(index_); }
const Shape& Input<const Node>::get_shape() const { return node_->get_input_shape(index_); }
const PartialShape& Input<const Node>::get_partial_shape() const { return node_->get_input_partial_shape(index_); }
Output<const Node> Input<const Node>::get_source_output() const { return node_->input_value(index_); }

}  // namespace v1
}  // namespace tenon
