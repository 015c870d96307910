// SPDX-License-Identifier: Apache-2.0
// Where a plan that computes in bf16 stays in f32.
#pragma once

#include <algorithm>

#include <tenon/engine/lower/builder.hpp>
#include <tenon/engine/lower/precise.hpp>

namespace tenon::inline v1::engine {

inline bool is_softmax(const Node& node) { return is_op(&node, "Softmax") || is_op(&node, "LogSoftmax"); }

/// A softmax reads the node's value.
inline bool feeds_softmax(const Node& node) {
  const auto users = node.get_users();
  return std::any_of(users.begin(), users.end(), [](const auto& user) { return is_softmax(*user); });
}

/// Type of what a convolution, product or normalization makes for the readers of the chain. What no further one reads,
/// be it over other operations, only becomes a result of the model (the coordinates of boxes, say), where bf16 would
/// lose digits and gain no time: that is f32. So are the scores that a softmax reads: it tells them apart by
/// differences, and a mask of the largest f32 would become an infinity in bf16, a row of such no numbers at all; and
/// what a precise node makes or reads.
inline ElementType result_type(const PlanBuilder& builder, const Chain& chain, ElementType computed) {
  if (computed == ElementType::kF32 || !builder.is_before_product(chain.last().get())) return ElementType::kF32;
  const auto users = chain.last()->get_users();
  const auto keeps = [](const auto& node) { return is_precise(*node); };
  const bool is_kept =
      std::any_of(chain.nodes.begin(), chain.nodes.end(), keeps) || std::any_of(users.begin(), users.end(), keeps);
  return is_kept ? ElementType::kF32 : computed;
}

}  // namespace tenon::inline v1::engine
