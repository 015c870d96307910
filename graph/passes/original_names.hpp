// SPDX-License-Identifier: Apache-2.0
// Records into which nodes the nodes of a given model were merged when passes changed a copy of it.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

/// A removed node of the given model.
struct OriginalNode {
  std::string name, type;
  bool is_folded = false;  ///< It depended on no input.
};

/// Nodes of the given model that this one replaces, except the one of its own name, in the given order.
TENON_API std::vector<OriginalNode> original_nodes(const Node& node);
/// Whether a pass made the node, so that the given model has no node of its name.
TENON_API bool is_made_by_pass(const Node& node);

/// Notes in the run-time information of `changed`'s nodes which nodes of `given` they replace: a removed node belongs
/// to the nearest remaining one after it, else to the nearest before it, else to a result. Passes keep the name of the
/// last node that they replace, so a pattern belongs to its replacement. IR files keep the notes; notes of `given` are
/// passed on.
/// @cost linear in the nodes; constants are not noted.
TENON_API void note_original_nodes(const Model& given, const Model& changed);

}  // namespace pass
}  // namespace v1
}  // namespace tenon
