// SPDX-License-Identifier: Apache-2.0
// Handles on the inputs of nodes.
#pragma once

#include <cstddef>
#include <type_traits>

#include "openvino/core/node_output.hpp"

namespace ov {

/// A handle on one input of a node. It keeps what the node computes with alive, too.
template <typename NodeType>
class Input {
 public:
  Input(NodeType* node, std::size_t index) : node_(node->shared_from_this()), index_(index) {}
  NodeType* get_node() const { return node_.get(); }
  std::size_t get_index() const { return index_; }
  const element::Type& get_element_type() const { return get_tensor().get_element_type(); }
  const Shape& get_shape() const { return get_tensor().get_shape(); }
  const PartialShape& get_partial_shape() const { return get_tensor().get_partial_shape(); }
  Output<Node> get_source_output() const { return node_->input_value(index_); }
  descriptor::Tensor& get_tensor() const { return get_source_output().get_tensor(); }
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const { return get_source_output().get_tensor_ptr(); }
  void replace_source_output(const Output<Node>& source) const { node_->set_argument(index_, source); }
  /// Notes of the program on an input; they are not written to files.
  const RTMap& get_rt_info() const { return node_->rt_info_of_input(index_); }
  std::conditional_t<std::is_const_v<NodeType>, const RTMap&, RTMap&> get_rt_info() {
    return node_->rt_info_of_input(index_);
  }

  bool operator==(const Input& other) const { return node_ == other.node_ && index_ == other.index_; }
  bool operator!=(const Input& other) const { return !(*this == other); }
  bool operator<(const Input& other) const {
    return *node_ < *other.node_ || (node_ == other.node_ && index_ < other.index_);
  }
  bool operator>(const Input& other) const { return other < *this; }
  bool operator<=(const Input& other) const { return !(other < *this); }
  bool operator>=(const Input& other) const { return !(*this < other); }

 private:
  std::shared_ptr<NodeType> node_;
  std::size_t index_;
};

}  // namespace ov
