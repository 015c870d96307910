// SPDX-License-Identifier: Apache-2.0
// Finds which element-wise nodes an anchor (convolution, matrix product...) may compute within its step, and which nodes together
// form a pattern that one kernel computes.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Finds all chains of a model before lowering.
class ChainFinder {
 public:
  ChainFinder(PlanBuilder& builder, const NodeVector& order);
  /// The chain that holds the node; null when it stands alone.
  const Chain* chain_of(const std::shared_ptr<Node>& node) const;

 private:
  void find_patterns(PlanBuilder& builder, const NodeVector& order);
  void find_loops(PlanBuilder& builder, const NodeVector& order);
  /// @return false if another chain has one of the nodes.
  bool add_pattern(const NodeVector& nodes, bool (*lower)(PlanBuilder&, const Chain&));
  std::vector<std::unique_ptr<Chain>> chains_;
  std::unordered_map<const Node*, const Chain*> by_node_;
};

}  // namespace tenon::inline v1::engine
