// SPDX-License-Identifier: Apache-2.0
// Element-wise nodes that no other step computes along with its own: each group of them that makes one value is one
// loop over memory.
#pragma once

#include <functional>
#include <memory>

#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Whether a fused loop can compute the node.
bool is_loop_operation(PlanBuilder& builder, const std::shared_ptr<Node>& node);

/// `last` and the nodes before it that one loop can compute with it: of its shape, and read within the group alone.
/// @param is_free  Whether a node may become part of it.
/// @return in an order in which each stands behind those that it reads.
NodeVector match_fused_loop(PlanBuilder& builder, const std::shared_ptr<Node>& last,
                            const std::function<bool(const std::shared_ptr<Node>&)>& is_free);

/// Lowers such a group, or a single node. It reads each tensor as it lies: with channels in blocks or last, and
/// broadcast ones where they stand. The result lies as the first tensor of its shape does.
bool lower_fused_loop(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
