// SPDX-License-Identifier: Apache-2.0
// What each position of a resized axis is made of: for devices that resize with their own loops.
#pragma once

#include <cstddef>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Node;

/// Input positions and their weights, of one output position.
struct ResizeTaps {
  std::vector<std::size_t> at;
  std::vector<float> weight;
};

/// Of every output position of one axis of an Interpolate node (any version, any mode that its reference kernel has)
/// from extent `in` to `out`; `scale` is out / in, or what the node's scales say.
/// @errors kInvalidArgument: mode "area".
TENON_API std::vector<ResizeTaps> resize_taps(const Node& node, std::size_t in, std::size_t out, float scale);

}  // namespace v1
}  // namespace tenon
