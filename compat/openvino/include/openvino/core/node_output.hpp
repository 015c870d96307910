// SPDX-License-Identifier: Apache-2.0
// Handles on the outputs of nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/descriptor/tensor.hpp"
#include "openvino/core/partial_shape.hpp"
#include "openvino/core/shape.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {

class Node;
template <typename NodeType>
class Input;
/// A handle on one output of a node; it keeps the node alive.
template <typename NodeType>
class Output {};

template <>
class OPENVINO_API Output<Node> {
 public:
  Output() = default;
  Output(Node* node, std::size_t index);
  Output(const std::shared_ptr<Node>& node, std::size_t index) : node_(node), index_(index) {}
  /// The only output of a node. @errors Exception: it has several.
  template <typename T>
  Output(const std::shared_ptr<T>& node) : Output(node ? node->get_default_output() : Output<Node>()) {}

  void reset() { *this = Output(); }
  Output<Node> for_node(const std::shared_ptr<Node>& node) const { return {node, index_}; }
  Node* get_node() const { return node_.get(); }
  std::shared_ptr<Node> get_node_shared_ptr() const { return node_; }
  std::size_t get_index() const { return index_; }
  descriptor::Tensor& get_tensor() const;
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const;
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  const PartialShape& get_partial_shape() const;
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const;
  const std::unordered_set<std::string>& get_names() const;
  std::string get_any_name() const;
  void set_names(const std::unordered_set<std::string>& names);
  void add_names(const std::unordered_set<std::string>& names);
  std::set<Input<Node>> get_target_inputs() const;
  /// All readers of this output read `replacement` instead.
  void replace(const Output<Node>& replacement);

  bool operator==(const Output& other) const { return node_ == other.node_ && index_ == other.index_; }
  bool operator!=(const Output& other) const { return !(*this == other); }
  bool operator<(const Output& other) const;
  bool operator>(const Output& other) const { return other < *this; }
  bool operator<=(const Output& other) const { return !(other < *this); }
  bool operator>=(const Output& other) const { return !(*this < other); }
  operator Output<const Node>() const;

 private:
  std::shared_ptr<Node> node_;
  std::size_t index_ = 0;
};

template <>
class OPENVINO_API Output<const Node> {
 public:
  Output() = default;
  Output(const Node* node, std::size_t index);
  Output(const std::shared_ptr<const Node>& node, std::size_t index) : node_(node), index_(index) {}
  template <typename T>
  Output(const std::shared_ptr<const T>& node) : Output(node ? node->get_default_output() : Output<const Node>()) {}

  void reset() { *this = Output(); }
  Output<const Node> for_node(const std::shared_ptr<const Node>& node) { return {node, index_}; }
  const Node* get_node() const { return node_.get(); }
  std::shared_ptr<const Node> get_node_shared_ptr() const { return node_; }
  std::size_t get_index() const { return index_; }
  descriptor::Tensor& get_tensor() const;
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const;
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  const PartialShape& get_partial_shape() const;
  const RTMap& get_rt_info() const;
  const std::unordered_set<std::string>& get_names() const;
  std::string get_any_name() const;
  std::set<Input<Node>> get_target_inputs() const;

  bool operator==(const Output& other) const { return node_ == other.node_ && index_ == other.index_; }
  bool operator!=(const Output& other) const { return !(*this == other); }
  bool operator<(const Output& other) const;
  bool operator>(const Output& other) const { return other < *this; }
  bool operator<=(const Output& other) const { return !(other < *this); }
  bool operator>=(const Output& other) const { return !(*this < other); }

 private:
  std::shared_ptr<const Node> node_;
  std::size_t index_ = 0;
};
inline Output<Node>::operator Output<const Node>() const { return Output<const Node>(node_, index_); }

OPENVINO_API std::ostream& operator<<(std::ostream& out, const Output<Node>& output);
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Output<const Node>& output);

}  // namespace ov
