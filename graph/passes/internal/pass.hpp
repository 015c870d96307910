// SPDX-License-Identifier: Apache-2.0
// Helpers for writing passes.
#pragma once

#include <tenon/graph/model.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

/// Runs `change` once on every node; the caller repeats it if necessary.
template <typename F>
Pass for_each_node(const char* name, F change) {
  return {name, [change](Model& model) {
            bool changed = false;
            for (const auto& node : model.get_ordered_ops()) changed |= change(node);
            return changed;
          }};
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
