// SPDX-License-Identifier: Apache-2.0
// The taps of each position of a resized axis, for devices that resize with their own loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

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

/// All that an Interpolate node does, axis by axis.
struct ResizeRule {
  struct Axis {
    std::size_t axis = 0;
    std::int64_t pad_begin = 0;    ///< Taps count from the first padded position; padded elements are 0.
    std::vector<ResizeTaps> taps;  ///< One for each position of the result.
  };
  std::vector<Axis> axes;       ///< Those that change, in the order in which they are resized.
  bool is_exact = false;        ///< Elements are copied unchanged.
  bool rounds = false;          ///< The result is rounded to integers.
  bool rounds_between = false;  ///< Intermediate results between two axes are rounded too, and clamped to 0..255.
};

/// @param in, out  Shapes of input 0 and of the output. @param inputs  Inputs of the node; the first is not read.
/// @errors kInvalidArgument: mode "area".
TENON_API ResizeRule resize_rule(const Node& node, const Shape& in, const Shape& out, std::span<const Tensor> inputs);

}  // namespace v1
}  // namespace tenon
