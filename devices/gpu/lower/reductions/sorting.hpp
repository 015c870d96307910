// SPDX-License-Identifier: Apache-2.0
// The first of a line, for operations that begin with them.
#pragma once

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// The greatest of each line of `data` [lines, extent], of 32 bits at most, in the order in which they stand; of equal ones the first.
/// @param values, indices  [lines, k], k not above the extent.
void select_greatest(Builder& builder, const Node& node, const View& data, const View& values, const View& indices);

}  // namespace tenon::inline v1::gpu_device
