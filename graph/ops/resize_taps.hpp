// SPDX-License-Identifier: Apache-2.0
// The taps of each position of a resized axis, for devices that resize with their own loops.
#pragma once

#include <cstddef>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Node;

/// Input positions of one output position, and their weights.
struct ResizeTaps {
  std::vector<std::size_t> at;
  std::vector<float> weight;
};

/// Taps of every output position of one axis of an Interpolate node, from extent `in` to `out`. Works for any version
/// and any mode that the reference kernel has. `scale` is out / in, or the node's scale.
/// @errors kInvalidArgument: mode "area".
TENON_API std::vector<ResizeTaps> resize_taps(const Node& node, std::size_t in, std::size_t out, float scale);

}  // namespace v1
}  // namespace tenon
