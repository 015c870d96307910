// SPDX-License-Identifier: Apache-2.0
// Names of nodes in what steps say about themselves.
#include <tenon/engine/lower/build/step_info.hpp>

#include <utility>

#include <tenon/graph/passes/original_names.hpp>

namespace tenon::inline v1::engine {
namespace {

void add_originals(StepInfo& info, const Node& node) {
  for (const pass::OriginalNode& original : pass::original_nodes(node))
    (original.is_folded ? info.folded : info.originals).emplace_back(original.name, original.type);
  if (!pass::is_made_by_pass(node)) info.originals.emplace_back(node.get_friendly_name(), node.get_type_name());
}

}  // namespace

StepInfo step_info(const Node& node, std::string kernel) {
  StepInfo info;
  info.node_name = node.get_friendly_name();
  info.node_type = node.get_type_name();
  info.kernel = std::move(kernel);
  add_originals(info, node);
  return info;
}

void add_fused(StepInfo& info, const Node& node) {
  info.fused.push_back(node.get_friendly_name());
  add_originals(info, node);
}

}  // namespace tenon::inline v1::engine
