// SPDX-License-Identifier: Apache-2.0
// Nodes that stay in f32 in a plan that computes in bf16.
#pragma once

#include <string>

#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Stored as IR files store it, so that blobs preserve the mark.
inline constexpr char kPreciseMark[] = "tenon_precise_0";

/// Has the node computed in f32, on inputs that are f32 if a step of their own makes them, whatever Options::precision
/// says. Has no effect in f32 plans.
inline void mark_precise(Node& node) {
  node.get_rt_info()[kPreciseMark] = AnyMap{{"name", std::string("tenon_precise")}, {"version", std::string("0")}};
}
inline bool is_precise(const Node& node) { return node.get_rt_info().count(kPreciseMark) > 0; }

}  // namespace tenon::inline v1::engine
