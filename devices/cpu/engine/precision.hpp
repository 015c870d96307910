// SPDX-License-Identifier: Apache-2.0
// Where a plan that computes in bf16 stays in f32.
#pragma once

#include <algorithm>

#include <tenon/devices/cpu/engine/lowering.hpp>

namespace tenon::inline v1::engine {

inline bool is_softmax(const Node& node) { return is_op(&node, "Softmax") || is_op(&node, "LogSoftmax"); }

/// A softmax reads the node's value.
inline bool feeds_softmax(const Node& node) {
  const auto users = node.get_users();
  return std::any_of(users.begin(), users.end(), [](const auto& user) { return is_softmax(*user); });
}

/// Type of what a convolution, product or normalization makes for the readers of `last`. What no further one reads, be
/// it over other operations, only becomes a result of the model (the coordinates of boxes, say), where bf16 would lose
/// digits and gain no time: that is f32. So are the scores that a softmax reads: it tells them apart by differences,
/// and a mask of the largest f32 would become an infinity in bf16, a row of such no numbers at all.
inline ElementType result_type(const Lowering& lowering, const std::shared_ptr<Node>& last, ElementType computed) {
  return computed == ElementType::kF32 || lowering.is_before_product(last.get()) ? computed : ElementType::kF32;
}

}  // namespace tenon::inline v1::engine
