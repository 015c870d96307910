// SPDX-License-Identifier: Apache-2.0
// What a step says about itself.
#pragma once

#include <string>

#include <tenon/engine/engine.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Describes a step that computes the node by that kernel, with the nodes that passes replaced by it.
StepInfo step_info(const Node& node, std::string kernel);
/// The step computes that node, too.
void add_fused(StepInfo& info, const Node& node);

}  // namespace tenon::inline v1::engine
