// SPDX-License-Identifier: Apache-2.0
// Recognises attention: the operation, and the nodes as which exporters write it.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>

#include <tenon/engine/kernels/attention/attention.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// One side of attention as the kernel reads it: [batch..., positions, numbers].
struct AttentionSide {
  Output<Node> value;
  bool is_flipped = false;   ///< `value` is [batch..., numbers, positions].
  std::size_t repeated = 1;  ///< So many neighbours along the last axis of the batch share a matrix of `value`.
};

/// softmax(scale * q k^T, masked) v.
struct AttentionMatch {
  NodeVector nodes;  ///< What one step computes, each after those that it reads.
  AttentionSide q, k, v;
  float scale = 1;
  float softcap = 0;         ///< As Attention::softcap.
  Output<Node> scale_value;  ///< A further factor that is not constant.
  Output<Node> sinks;        ///< One more score of each query, whose weight is not used.
  bool is_causal = false;
  kernels::Attention::Mask mask_kind = kernels::Attention::Mask::kNone;
  Output<Node> mask;
  float masked = -std::numeric_limits<float>::infinity();
  float blind = 0;
};

/// @param node  ScaledDotProductAttention, or the product of a softmax with the values.
/// @return nothing if it is another thing, or in a form that has no kernel.
std::optional<AttentionMatch> match_attention(PlanBuilder& builder, const std::shared_ptr<Node>& node);
/// Whether one step for all nodes of the match is at least as fast as a step for each.
bool is_faster_whole(const PlanBuilder& builder, const AttentionMatch& match);

}  // namespace tenon::inline v1::engine
