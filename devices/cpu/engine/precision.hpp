// SPDX-License-Identifier: Apache-2.0
// Where a plan that computes in bf16 stays in f32.
#pragma once

#include <set>
#include <vector>

#include <tenon/devices/cpu/engine/lowering.hpp>
#include <tenon/devices/cpu/engine/precise.hpp>

namespace tenon::inline v1::engine {

/// Type of what a convolution, product or normalization makes for the readers of the chain. What no further one reads,
/// be it over other operations, only becomes a result of the model (the coordinates of boxes, say), where bf16 would
/// lose digits and gain no time: that is f32. So is what a precise node makes or reads.
inline ElementType result_type(const Chain& chain, ElementType computed) {
  if (computed == ElementType::kF32) return computed;
  for (const auto& node : chain.nodes)
    if (is_precise(*node)) return ElementType::kF32;
  for (const auto& user : chain.last()->get_users())
    if (is_precise(*user)) return ElementType::kF32;
  std::set<const Node*> seen;
  std::vector<const Node*> open{chain.last().get()};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const auto& user : node->get_users()) {
      const std::string_view type = user->get_type_name();
      if (type.find("Convolution") != type.npos || type == "MatMul" || type == "ScaledDotProductAttention")
        return computed;
      if (seen.insert(user.get()).second) open.push_back(user.get());
    }
  }
  return ElementType::kF32;
}

}  // namespace tenon::inline v1::engine
