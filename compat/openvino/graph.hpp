// SPDX-License-Identifier: Apache-2.0
// What nodes.cpp and models.cpp share: wrappers of nodes, lists of them, and rt_info.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "convert.hpp"

namespace ov {
namespace detail {

using Lock = std::lock_guard<std::recursive_mutex>;

Node* known_wrapper(const tenon::Node* node);
/// Whether a result or a sink depends on the node: others may be left over from a change.
bool is_used(const Node& node);
/// Other inputs of a node that is not whole yet, and what makes it whole. @errors as tenon::make_node.
void give_inputs(Node::Impl& impl, const OutputVector& inputs);
void finish(Node::Impl& impl);
/// " (what it reads) -> (types and shapes of outputs)".
std::ostream& write_ports(std::ostream& out, const Node& node);

/// rt_info of ov: read once, then the program's; written back before Tenon uses it.
RTMap& read_rt_info(RTMap& map, bool& read, const tenon::RTMap& source);
void store(const RTMap& map, bool& read, tenon::RTMap& target);

/// Tensors for Tenon's kernels: empty ones stay empty.
tenon::TensorVector tensors_of(const TensorVector& tensors);
void store_outputs(TensorVector& outputs, const tenon::TensorVector& computed);

template <typename To, typename From>
std::vector<std::shared_ptr<To>> list_of(const std::vector<std::shared_ptr<From>>& nodes) {
  std::vector<std::shared_ptr<To>> result;
  for (const auto& node : nodes) {
    auto wrapper = std::dynamic_pointer_cast<To>(from(std::shared_ptr<tenon::Node>(node)));
    if (!wrapper) OPENVINO_THROW(node->describe(), " cannot be in such a list");
    result.push_back(std::move(wrapper));
  }
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
}  // namespace detail
}  // namespace ov
