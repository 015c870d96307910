// SPDX-License-Identifier: Apache-2.0
// Which nodes of a given model became part of which, when passes changed a copy of it.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

/// A node of the given model that is no more.
struct OriginalNode {
  std::string name, type;
  bool is_folded = false;  ///< It depended on no input.
};

/// Nodes of the given model that this one stands for, apart from the one of its own name, in the given order.
TENON_API std::vector<OriginalNode> original_nodes(const Node& node);
/// Whether a pass made the node, which then has no node of its name in the given model.
TENON_API bool is_made_by_pass(const Node& node);

/// Notes in the run-time information of `changed`'s nodes what became of those of `given`: a node that is gone belongs to
/// the nearest one after it that is left, else to the nearest before it, and to a result at the last. Passes keep the name of the last node that they
/// replace, so a pattern belongs to what replaces it. IR files keep the notes; those that `given` has are handed on.
/// @cost linear in the nodes; constants are not noted.
TENON_API void note_original_nodes(const Model& given, const Model& changed);

}  // namespace pass
}  // namespace v1
}  // namespace tenon
