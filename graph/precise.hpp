// SPDX-License-Identifier: Apache-2.0
// A mark for nodes that stay in f32 on a device that computes in bf16.
#pragma once

#include <string>

#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// Stored as IR files store it, so that blobs preserve the mark.
inline constexpr char kPreciseMark[] = "tenon_precise_0";

/// Has the CPU and the NPU compute the node in f32, on inputs that are f32 if a step of their own makes them, whatever precision the
/// others have. Readers mark the products that they write for an operation that is none, such as a Fourier transform. Has no effect where
/// all is f32.
inline void mark_precise(Node& node) {
  node.get_rt_info()[kPreciseMark] = AnyMap{{"name", std::string("tenon_precise")}, {"version", std::string("0")}};
}
inline bool is_precise(const Node& node) { return node.get_rt_info().count(kPreciseMark) > 0; }

}  // namespace v1
}  // namespace tenon
