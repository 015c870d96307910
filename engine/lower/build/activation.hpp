// SPDX-License-Identifier: Apache-2.0
// Element-wise nodes in oneDNN's terms.
#pragma once

#include <memory>
#include <optional>

#include <dnnl.hpp>

#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// An element-wise function of one tensor in oneDNN's terms.
struct Activation {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};

/// The activation that a node computes on its input 0; nothing if it is none, or its parameters are not constant.
std::optional<Activation> activation_of(PlanBuilder& builder, const std::shared_ptr<Node>& node);
/// oneDNN's algorithm of a binary element-wise node.
std::optional<dnnl::algorithm> binary_of(const std::shared_ptr<Node>& node);

}  // namespace tenon::inline v1::engine
