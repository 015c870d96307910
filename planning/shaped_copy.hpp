// SPDX-License-Identifier: Apache-2.0
// A copy of a model that gets one set of shapes after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::planning {

/// What an input is given.
struct InputShape {
  ElementType type = ElementType::kUndefined;
  Shape shape;
};

/// Whether a plan can have the node: the types and shapes of all outputs are known, and it computes no strings.
bool is_static(const Node& node);

/// Giving a copy other shapes costs much less than copying: only nodes that they reach are asked.
/// @thread one at a time.
class ShapedCopy {
 public:
  /// @param model  Without states.
  explicit ShapedCopy(const Model& model);

  const std::shared_ptr<Model>& model() const { return model_; }
  const NodeVector& order() const { return order_; }
  /// Whether a plan can have all nodes.
  bool is_closed() const { return open_.empty(); }
  /// @param changed  One for each node in order: set where its inputs may have changed.
  /// @return how many nodes were asked. @errors those of shape inference, which name the node: the copy is of no use then.
  std::size_t give(std::span<const InputShape> inputs, std::vector<bool>& changed);

 private:
  std::shared_ptr<Model> model_;
  NodeVector order_;
  std::vector<std::vector<std::uint32_t>> sources_;  ///< Where those of each node stand in the order.
  std::set<std::uint32_t> open_;                     ///< Those that are not is_static().
};

}  // namespace tenon::inline v1::planning
