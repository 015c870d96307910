// SPDX-License-Identifier: Apache-2.0
// Nodes of a model.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/node_input.hpp"
#include "openvino/core/node_output.hpp"
#include "openvino/core/node_vector.hpp"
#include "openvino/core/type.hpp"
#include "openvino/runtime/tensor.hpp"

namespace ov {

class AttributeVisitor;
namespace pass {
namespace pattern {
class Matcher;
}
}  // namespace pass
namespace op {
struct AutoBroadcastSpec;
}
using EvaluationContext = RTMap;

/// An operation in a model. As long as any handle on a node is held, the same node has the same address.
class OPENVINO_API Node : public std::enable_shared_from_this<Node> {
 public:
  using type_info_t = DiscreteTypeInfo;
  using RTMap = std::map<std::string, Any>;
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual const DiscreteTypeInfo& get_type_info() const;
  const char* get_type_name() const { return get_type_info().name; }
  std::string description() const { return get_type_name(); }
  const std::string& get_name() const;
  const std::string& get_friendly_name() const;
  void set_friendly_name(const std::string& name);
  bool is_dynamic() const;
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const;

  std::size_t get_input_size() const;
  std::size_t get_output_size() const;
  std::vector<Input<Node>> inputs();
  std::vector<Input<const Node>> inputs() const;
  Input<Node> input(std::size_t index);
  Input<const Node> input(std::size_t index) const;
  std::vector<Output<Node>> outputs();
  std::vector<Output<const Node>> outputs() const;
  Output<Node> output(std::size_t index);
  Output<const Node> output(std::size_t index) const;
  Output<Node> get_default_output();
  Output<const Node> get_default_output() const;
  Output<Node> input_value(std::size_t index) const;
  std::vector<Output<Node>> input_values() const;
  Output<Node> get_input_source_output(std::size_t index) const { return input_value(index); }
  Node* get_input_node_ptr(std::size_t index) const { return input_value(index).get_node(); }
  std::shared_ptr<Node> get_input_node_shared_ptr(std::size_t index) const {
    return input_value(index).get_node_shared_ptr();
  }
  const element::Type& get_input_element_type(std::size_t index) const {
    return get_input_tensor(index).get_element_type();
  }
  const Shape& get_input_shape(std::size_t index) const { return get_input_tensor(index).get_shape(); }
  const PartialShape& get_input_partial_shape(std::size_t index) const {
    return get_input_tensor(index).get_partial_shape();
  }
  const element::Type& get_output_element_type(std::size_t index) const {
    return get_output_tensor(index).get_element_type();
  }
  const Shape& get_output_shape(std::size_t index) const { return get_output_tensor(index).get_shape(); }
  const PartialShape& get_output_partial_shape(std::size_t index) const {
    return get_output_tensor(index).get_partial_shape();
  }
  /// Those of nodes with one output.
  const element::Type& get_element_type() const { return get_output_element_type(0); }
  const Shape& get_shape() const { return get_output_shape(0); }
  descriptor::Tensor& get_output_tensor(std::size_t index) const;
  descriptor::Tensor& get_input_tensor(std::size_t index) const { return input_value(index).get_tensor(); }
  std::set<Input<Node>> get_output_target_inputs(std::size_t index) const;
  NodeVector get_users(bool check_is_used = false) const;

  void set_argument(std::size_t index, const Output<Node>& source);
  void set_arguments(const OutputVector& sources);
  /// All outputs of the nodes.
  void set_arguments(const NodeVector& sources);
  virtual void validate_and_infer_types();
  void revalidate_and_infer_types() { validate_and_infer_types(); }
  void constructor_validate_and_infer_types() { validate_and_infer_types(); }
  void set_output_size(std::size_t count);
  void set_output_type(std::size_t index, const element::Type& type, const PartialShape& shape);
  /// Shows the visitor each attribute, under its name in files of models. What it changes is checked, and shapes follow.
  virtual bool visit_attributes(AttributeVisitor& visitor);
  /// How inputs' shapes become one; NONE for operations that do not say.
  op::AutoBroadcastSpec get_autob() const;
  bool has_same_type(const std::shared_ptr<const Node>& other) const {
    return get_output_size() == other->get_output_size() && get_element_type() == other->get_element_type() &&
           get_shape() == other->get_shape();
  }
  virtual std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const;
  std::shared_ptr<Node> copy_with_new_inputs(const OutputVector& inputs) const { return clone_with_new_inputs(inputs); }
  std::shared_ptr<Node> copy_with_new_inputs(const OutputVector& inputs, const NodeVector& control_dependencies) const;
  virtual bool has_evaluate() const;
  /// Computes with the reference kernel. @return false: there is none.
  virtual bool evaluate(TensorVector& outputs, const TensorVector& inputs) const;
  virtual bool evaluate(TensorVector& outputs, const TensorVector& inputs, const EvaluationContext& context) const;
  /// Whether this node of a pattern matches an output of a model, and its inputs match.
  virtual bool match_value(pass::pattern::Matcher* matcher, const Output<Node>& pattern_value,
                           const Output<Node>& graph_value);
  virtual bool match_node(pass::pattern::Matcher* matcher, const Output<Node>& graph_value);
  virtual bool can_constant_fold(const OutputVector& inputs_values) const;
  /// Computes from Constants. @return false: an input is none, or there is no kernel.
  virtual bool constant_fold(OutputVector& output_values, const OutputVector& inputs_values);
  virtual std::ostream& write_description(std::ostream& out, std::uint32_t depth = 0) const;
  /// Computes an output's least, or greatest, values from what is known of the inputs': of what a shape's extents lie
  /// between, or by set_lower_value and set_upper_value. @return false: nothing is known.
  virtual bool evaluate_lower(TensorVector& output_values) const;
  virtual bool evaluate_upper(TensorVector& output_values) const;
  /// Forgets what set_lower_value and set_upper_value said of the outputs.
  void invalidate_values();
  /// Larger for nodes that were made later.
  std::size_t get_instance_id() const;
  /// The output that stands for the node where one is needed.
  virtual std::size_t get_default_output_index() const { return 0; }
  /// @errors Exception, always.
  [[noreturn]] std::size_t no_default_index() const;
  /// Notes of the program: a state is read before it is written, and nothing else needs an order.
  const NodeVector& get_control_dependencies() const;
  const std::vector<Node*>& get_control_dependents() const;
  void clear_control_dependents();
  void add_node_control_dependencies(const std::shared_ptr<const Node>& source_node);
  void add_node_control_dependents(const std::shared_ptr<const Node>& source_node);
  void transfer_control_dependents(std::shared_ptr<Node> replacement);
  void add_control_dependency(std::shared_ptr<Node> node);
  void remove_control_dependency(std::shared_ptr<Node> node);
  void clear_control_dependencies();
  bool operator<(const Node& other) const;

  RTMap& rt_info_of_input(std::size_t index) const;
  struct Impl;
  explicit Node(std::shared_ptr<Impl> impl);
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};
using NodeTypeInfo = Node::type_info_t;
/// A port that keeps no node alive.
struct RawNodeOutput {
  RawNodeOutput() = default;
  RawNodeOutput(Node* of, std::size_t at) : node(of), index(at) {}
  RawNodeOutput(const Output<Node>& port) : RawNodeOutput(port.get_node(), port.get_index()) {}
  operator Output<Node>() const { return {node, index}; }
  bool operator==(const RawNodeOutput& other) const { return node == other.node && index == other.index; }
  bool operator!=(const RawNodeOutput& other) const { return !(*this == other); }
  bool operator<(const RawNodeOutput& other) const {
    return std::less<>()(node, other.node) || (node == other.node && index < other.index);
  }
  bool operator>(const RawNodeOutput& other) const { return other < *this; }
  bool operator<=(const RawNodeOutput& other) const { return !(other < *this); }
  bool operator>=(const RawNodeOutput& other) const { return !(*this < other); }
  Node* node = nullptr;
  std::size_t index = 0;
};
using RawNodeOutputMap = std::map<RawNodeOutput, Output<Node>>;
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Node& node);
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Node* node);

namespace op {
namespace util {
/// Whether an input of two nodes reads the same output.
OPENVINO_API bool input_sources_are_equal(const std::shared_ptr<Node>& node1, const std::shared_ptr<Node>& node2,
                                          std::size_t input_index);
}  // namespace util
}  // namespace op

/// A node's inputs, attributes or shapes do not fit.
class OPENVINO_API NodeValidationFailure : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const Node* node,
                                  const std::string& explanation);
  explicit NodeValidationFailure(const std::string& what_arg) : AssertFailure(what_arg) {}
  ~NodeValidationFailure() override;
};

/// @errors Exception: another number of inputs than the node has.
OPENVINO_API void check_new_args_count(const Node* node, const OutputVector& new_args);
OPENVINO_API std::string node_validation_failure_loc_string(const Node* node);

}  // namespace ov

#define OV_TENON_NODE_CHECK(node, condition, ...)                                                                   \
  do {                                                                                                              \
    if (!static_cast<bool>(condition))                                                                              \
      ::ov::NodeValidationFailure::create(__FILE__, __LINE__, #condition, node, ::ov::detail::joined(__VA_ARGS__)); \
  } while (0)
#define NODE_VALIDATION_CHECK(node, ...) OV_TENON_NODE_CHECK(node, __VA_ARGS__, "")
