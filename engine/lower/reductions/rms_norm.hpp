// SPDX-License-Identifier: Apache-2.0
// Recognises norms by the root of the mean square, which most decoders have, and lowers them to one step.
#pragma once

#include <memory>
#include <optional>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// x / sqrt(mean(x^2) + epsilon) * weights, along the last axis.
struct RmsNormMatch {
  NodeVector nodes;  ///< Each after those that it reads.
  Output<Node> x;
  float epsilon = 0;
  Tensor weights;  ///< Empty: none.
};

/// @param node  The product or quotient that divides x by the root.
std::optional<RmsNormMatch> match_rms_norm(PlanBuilder& builder, const std::shared_ptr<Node>& node);
/// Lowers the chain that match_rms_norm() made.
bool lower_rms_norm(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
