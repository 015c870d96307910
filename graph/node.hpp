// SPDX-License-Identifier: Apache-2.0
// Nodes of a model, and the ports that connect them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

class Node;
class Model;
class Tensor;
struct Operation;
template <typename T>
class Output;
template <typename T>
class Input;

using NodeVector = std::vector<std::shared_ptr<Node>>;
using OutputVector = std::vector<Output<Node>>;
using TensorVector = std::vector<Tensor>;
using RTMap = AnyMap;

/// Name and version of an operation. Equal when both texts are equal.
struct DiscreteTypeInfo {
  std::string_view name;        ///< "Convolution"
  std::string_view version_id;  ///< "opset1": the operation set that introduced this version.
  std::string get_version() const { return std::string(version_id); }
  friend bool operator==(const DiscreteTypeInfo& a, const DiscreteTypeInfo& b) {
    return a.name == b.name && a.version_id == b.version_id;
  }
};

/// Known bounds of one element of an integer tensor that is computed from shapes: it lies in [min, max].
struct ValueBound {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  bool is_known() const { return min == max; }
};

namespace descriptor {
/// Description of one output: type, shape, names, and its value if shape inference could find it.
class TENON_API Tensor {
 public:
  const element::Type& get_element_type() const { return type_; }
  const PartialShape& get_partial_shape() const { return shape_; }
  /// @errors kFailedPrecondition: the shape is dynamic.
  const Shape& get_shape() const;
  std::size_t size() const;
  const std::unordered_set<std::string>& get_names() const { return names_; }
  /// The first of the names in sorted order. @errors kNotFound: it has none.
  std::string get_any_name() const;
  void set_names(const std::unordered_set<std::string>& names);
  void add_names(const std::unordered_set<std::string>& names);
  RTMap& get_rt_info() { return rt_info_; }
  const RTMap& get_rt_info() const { return rt_info_; }

  void set_tensor_type(element::Type type, PartialShape shape);
  /// The value if it does not depend on any input: a Constant's tensor, or a small result of constants. Null otherwise.
  const std::shared_ptr<const ::tenon::v1::Tensor>& value() const { return value_; }
  void set_value(std::shared_ptr<const ::tenon::v1::Tensor> value) { value_ = std::move(value); }
  /// Intervals of an integer tensor of rank 0 or 1 computed from shapes; empty when unknown.
  const std::vector<ValueBound>& bounds() const { return bounds_; }
  void set_bounds(std::vector<ValueBound> bounds);

 private:
  element::Type type_;
  PartialShape shape_ = PartialShape::dynamic();
  Shape static_shape_;
  bool is_static_ = false;
  std::unordered_set<std::string> names_;
  RTMap rt_info_;
  std::shared_ptr<const ::tenon::v1::Tensor> value_;
  std::vector<ValueBound> bounds_;
};
}  // namespace descriptor

/// A handle on one output of a node; it keeps the node alive.
template <>
class TENON_API Output<Node> {
 public:
  Output() = default;
  Output(const std::shared_ptr<Node>& node, std::size_t index) : node_(node), index_(index) {}
  Output(Node* node, std::size_t index);
  /// For nodes with one output. @errors kInvalidArgument: it has several.
  template <typename T>
  requires std::is_convertible_v<T*, Node*> Output(const std::shared_ptr<T>& node)
      : Output(std::shared_ptr<Node>(node)) {}
  Output(const std::shared_ptr<Node>& node);

  Node* get_node() const { return node_.get(); }
  std::shared_ptr<Node> get_node_shared_ptr() const { return node_; }
  std::size_t get_index() const { return index_; }
  descriptor::Tensor& get_tensor() const;
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const;
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  const PartialShape& get_partial_shape() const;
  const std::unordered_set<std::string>& get_names() const;
  std::string get_any_name() const;
  void set_names(const std::unordered_set<std::string>& names);
  void add_names(const std::unordered_set<std::string>& names);
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const;
  std::set<Input<Node>> get_target_inputs() const;
  /// All consumers of this output read `replacement` instead; the names are added to the replacement.
  void replace(const Output<Node>& replacement);
  explicit operator bool() const { return node_ != nullptr; }

  friend bool operator==(const Output& a, const Output& b) { return a.node_ == b.node_ && a.index_ == b.index_; }
  TENON_API friend bool operator<(const Output& a, const Output& b);

 private:
  friend class Node;
  std::shared_ptr<Node> node_;
  std::size_t index_ = 0;
};

template <>
class TENON_API Output<const Node> {
 public:
  Output() = default;
  Output(const std::shared_ptr<const Node>& node, std::size_t index) : node_(node), index_(index) {}
  Output(const Node* node, std::size_t index);
  Output(const Output<Node>& other) : node_(other.get_node_shared_ptr()), index_(other.get_index()) {}

  const Node* get_node() const { return node_.get(); }
  std::shared_ptr<const Node> get_node_shared_ptr() const { return node_; }
  std::size_t get_index() const { return index_; }
  const descriptor::Tensor& get_tensor() const;
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  const PartialShape& get_partial_shape() const;
  const std::unordered_set<std::string>& get_names() const;
  std::string get_any_name() const;
  const RTMap& get_rt_info() const;
  std::set<Input<Node>> get_target_inputs() const;
  explicit operator bool() const { return node_ != nullptr; }

  friend bool operator==(const Output& a, const Output& b) { return a.node_ == b.node_ && a.index_ == b.index_; }
  TENON_API friend bool operator<(const Output& a, const Output& b);

 private:
  std::shared_ptr<const Node> node_;
  std::size_t index_ = 0;
};

/// A handle on one input of a node; it does not keep the node alive.
template <>
class TENON_API Input<Node> {
 public:
  Input(Node* node, std::size_t index) : node_(node), index_(index) {}
  Node* get_node() const { return node_; }
  std::size_t get_index() const { return index_; }
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  const PartialShape& get_partial_shape() const;
  Output<Node> get_source_output() const;
  descriptor::Tensor& get_tensor() const;
  /// Connects this input to another output; types and shapes are not inferred again until validation.
  void replace_source_output(const Output<Node>& source) const;

  friend bool operator==(const Input& a, const Input& b) { return a.node_ == b.node_ && a.index_ == b.index_; }
  TENON_API friend bool operator<(const Input& a, const Input& b);

 private:
  Node* node_;
  std::size_t index_;
};

template <>
class TENON_API Input<const Node> {
 public:
  Input(const Node* node, std::size_t index) : node_(node), index_(index) {}
  Input(const Input<Node>& other) : node_(other.get_node()), index_(other.get_index()) {}
  const Node* get_node() const { return node_; }
  std::size_t get_index() const { return index_; }
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  const PartialShape& get_partial_shape() const;
  Output<const Node> get_source_output() const;
  friend bool operator==(const Input& a, const Input& b) { return a.node_ == b.node_ && a.index_ == b.index_; }

 private:
  const Node* node_;
  std::size_t index_;
};

TENON_API std::shared_ptr<Node> make_node(std::string_view type, unsigned version, OutputVector inputs,
                                          Attributes attributes, const std::string& friendly_name);

/// An operation in a model: a row of the operation table, attributes, and inputs. Types and shapes of its outputs are
/// inferred on construction. A node owns the nodes it reads from, never its readers.
/// @thread distinct models from distinct threads; several threads may read the same model.
class TENON_API Node : public std::enable_shared_from_this<Node> {
 public:
  /// Prefer make_node. @errors as make_node.
  Node(const Operation& operation, OutputVector inputs, Attributes attributes = {});
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const DiscreteTypeInfo& get_type_info() const;
  const char* get_type_name() const;
  const Operation& operation() const { return *operation_; }
  const Attributes& get_attributes() const { return attributes_; }
  /// Changes an attribute; checked against the schema; call validate_and_infer_types() afterwards.
  void set_attribute(std::string_view name, Attribute value);

  /// Unique in the process ("Add_17").
  const std::string& get_name() const { return unique_name_; }
  /// The name given by the model's author, else get_name().
  const std::string& get_friendly_name() const { return friendly_name_.empty() ? unique_name_ : friendly_name_; }
  void set_friendly_name(const std::string& name) { friendly_name_ = name; }
  bool has_friendly_name() const { return !friendly_name_.empty(); }

  std::size_t get_input_size() const { return sources().size(); }
  std::size_t get_output_size() const { return outputs_.size(); }
  Input<Node> input(std::size_t index);
  Input<const Node> input(std::size_t index) const;
  std::vector<Input<Node>> inputs();
  std::vector<Input<const Node>> inputs() const;
  Output<Node> output(std::size_t index);
  Output<const Node> output(std::size_t index) const;
  std::vector<Output<Node>> outputs();
  std::vector<Output<const Node>> outputs() const;
  /// The output that feeds input i.
  Output<Node> input_value(std::size_t index) const;
  OutputVector input_values() const;
  Node* get_input_node_ptr(std::size_t index) const;
  std::shared_ptr<Node> get_input_node_shared_ptr(std::size_t index) const;
  const element::Type& get_input_element_type(std::size_t index) const;
  const Shape& get_input_shape(std::size_t index) const;
  const PartialShape& get_input_partial_shape(std::size_t index) const;
  const element::Type& get_output_element_type(std::size_t index) const;
  const Shape& get_output_shape(std::size_t index) const;
  const PartialShape& get_output_partial_shape(std::size_t index) const;
  /// For nodes with one output.
  const element::Type& get_element_type() const { return get_output_element_type(0); }
  const Shape& get_shape() const { return get_output_shape(0); }
  descriptor::Tensor& get_output_tensor(std::size_t index) const;
  descriptor::Tensor& get_input_tensor(std::size_t index) const;
  std::set<Input<Node>> get_output_target_inputs(std::size_t index) const;
  /// Number of inputs that read the output. @cost constant; the functions around this one list all readers.
  std::size_t count_output_readers(std::size_t index) const { return port(index).readers.size(); }
  /// True when any output has a reader. @cost constant for one output.
  bool has_readers() const;
  /// Distinct nodes that read any output, in order of first use.
  NodeVector get_users() const;
  bool is_dynamic() const;

  RTMap& get_rt_info() { return rt_info_; }
  const RTMap& get_rt_info() const { return rt_info_; }

  void set_argument(std::size_t index, const Output<Node>& source);
  void set_arguments(const OutputVector& sources);
  /// Runs the operation's checks and shape function again. @errors kInvalidArgument naming the node.
  void validate_and_infer_types();
  /// A node of the same operation, attributes, friendly name and run-time information over other inputs.
  virtual std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const;
  std::shared_ptr<Node> copy_with_new_inputs(const OutputVector& inputs) const { return clone_with_new_inputs(inputs); }
  /// Computes outputs with the reference kernel. Empty outputs are allocated; others must have the right type and
  /// shape. @return false if the operation has no kernel. @errors kInvalidArgument.
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const;

  // For shape functions.
  void set_output_size(std::size_t count);
  void set_output_type(std::size_t index, element::Type type, const PartialShape& shape);

  /// "Convolution node 'stem/conv' (opset1)": the form in which messages name a node.
  std::string describe() const;

 protected:
  struct Deferred {};
  /// For Parameter, Result, Constant: sets the row without inferring anything.
  Node(const Operation& operation, OutputVector inputs, Attributes attributes, Deferred);
  void constructor_validate_and_infer_types();
  /// Adds an input, for operations with any number of them. @errors kInvalidArgument: the source has no such output.
  void append_argument(const Output<Node>& source);
  /// A Result's output is the tensor that it reads.
  void share_output_tensor(std::size_t index, std::shared_ptr<descriptor::Tensor> tensor);
  virtual void after_arguments_change() {}

 private:
  friend class Output<Node>;
  friend class Output<const Node>;
  friend TENON_API std::shared_ptr<Node> make_node(std::string_view, unsigned, OutputVector, Attributes,
                                                   const std::string&);
  /// Lists, so that removing one of many readers takes constant time, and changing an input's source needs no memory.
  using Readers = std::list<std::pair<Node*, std::size_t>>;
  struct Port {
    std::shared_ptr<descriptor::Tensor> tensor;
    Readers readers;
  };
  /// The node's sources, with each input's position among the source's readers. Allocated separately and with room for
  /// a link, so that a destroyed node can defer the release of its sources without allocating.
  struct Sources {
    OutputVector outputs;
    std::vector<Readers::iterator> places;
    std::unique_ptr<Sources> next;
  };
  const OutputVector& sources() const { return sources_->outputs; }
  Readers& readers_of(std::size_t input) const;
  void attach(std::size_t index);
  void detach(std::size_t index) noexcept;
  const Port& port(std::size_t index) const;

  const Operation* operation_;
  Attributes attributes_;
  std::unique_ptr<Sources> sources_;
  std::vector<Port> outputs_;
  std::string unique_name_;
  std::string friendly_name_;
  RTMap rt_info_;
  std::uint64_t serial_ = 0;
  template <typename T>
  friend class Input;
  friend TENON_API bool operator<(const Output<Node>&, const Output<Node>&);
  friend TENON_API bool operator<(const Output<const Node>&, const Output<const Node>&);
  friend TENON_API bool operator<(const Input<Node>&, const Input<Node>&);
};

/// Makes a node of any operation in the table.
///
/// @param type      Operation name: "Convolution". Parameter, Result and Constant give their own classes (a Constant
///                  needs the class's constructors for its data).
/// @param version   Operation set; selects the newest version of the operation that the set contains (1 and 0:
///                  opset1).
/// @param inputs    In the schema's order; trailing optional ones may be left out.
/// @param attributes Unknown names, wrong kinds, values outside an enumeration and missing required ones are errors;
///                  missing optional ones are filled in.
/// @errors kNotFound: no such operation (the message names the versions that exist).
///         kInvalidArgument: inputs, attributes or shapes do not fit; names node, type, expected and found.
TENON_API std::shared_ptr<Node> make_node(std::string_view type, unsigned version, OutputVector inputs,
                                          Attributes attributes = {}, const std::string& friendly_name = {});

/// Whether the node's operation is T's, even if make_node made it generically.
template <typename T, typename P>
bool is_type(const P& node) {
  return node && node->get_type_info() == T::get_type_info_static();
}
/// By class: for Parameter, Result and Constant. Null for other nodes.
template <typename T>
std::shared_ptr<T> as_type_ptr(const std::shared_ptr<Node>& node) {
  return std::dynamic_pointer_cast<T>(node);
}
template <typename T>
std::shared_ptr<const T> as_type_ptr(const std::shared_ptr<const Node>& node) {
  return std::dynamic_pointer_cast<const T>(node);
}
template <typename T>
T* as_type(Node* node) {
  return dynamic_cast<T*>(node);
}
template <typename T>
const T* as_type(const Node* node) {
  return dynamic_cast<const T*>(node);
}
/// Matches by name, such as "Convolution", and optionally version: a cheap test for operations without a class.
TENON_API bool is_op(const Node* node, std::string_view type);
inline bool is_op(const std::shared_ptr<Node>& node, std::string_view type) { return is_op(node.get(), type); }

}  // namespace v1
}  // namespace tenon
