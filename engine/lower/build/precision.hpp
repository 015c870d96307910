// SPDX-License-Identifier: Apache-2.0
// Where a plan that computes in bf16 stays in f32.
#pragma once

#include <algorithm>

#include <tenon/core/element_type.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/precise.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

inline bool is_softmax(const Node& node) { return is_op(&node, "Softmax") || is_op(&node, "LogSoftmax"); }

/// Whether a softmax reads the node's value.
inline bool feeds_softmax(const Node& node) {
  const auto users = node.get_users();
  return std::any_of(users.begin(), users.end(), [](const auto& user) { return is_softmax(*user); });
}

/// Type that a convolution, product or normalization writes for the readers of its chain. f32 in three cases, else
/// `computed`. First, values that no further product reads, directly or through other operations: they only become
/// results of the model (box coordinates, say), where bf16 loses digits and saves no time. Second, scores that a
/// softmax reads: their differences matter, and a mask of the largest f32 would become infinity in bf16, and a row of
/// such masks NaN. Third, values that a precise node makes or reads.
inline ElementType result_type(const PlanBuilder& builder, const Chain& chain, ElementType computed) {
  if (computed == ElementType::kF32 || !builder.is_before_product(chain.last().get())) return ElementType::kF32;
  const auto users = chain.last()->get_users();
  const auto keeps = [](const auto& node) { return is_precise(*node); };
  const bool is_kept =
      std::any_of(chain.nodes.begin(), chain.nodes.end(), keeps) || std::any_of(users.begin(), users.end(), keeps);
  return is_kept ? ElementType::kF32 : computed;
}

}  // namespace tenon::inline v1::engine
