// SPDX-License-Identifier: Apache-2.0
// Ranges of Slice and StridedSlice on each axis, shared by all implementations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// Elements start, start + step, ... of an axis: `count` of them.
struct AxisSlice {
  std::int64_t start = 0, step = 1, count = 0;
};

/// The range of each axis of the data. Axes that the result drops have a count of 1; axes that it adds are not listed,
/// because they do not change the order of the elements.
/// @param node  A Slice or StridedSlice.  @param data  Shape of its input 0.
/// @param positions  The node's other inputs, in host memory.
/// @errors kInvalidArgument: positions that do not agree with each other or with the data.
TENON_API std::vector<AxisSlice> slices_of(const Node& node, const Shape& data, std::span<const Tensor> positions);

}  // namespace v1
}  // namespace tenon
