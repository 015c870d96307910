// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of matrices of 8-bit numbers, with sums in integers.
#pragma once

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// Each sets the node's output if both sides are such numbers (Builder::numbers()).
/// @return whether they are.
/// @{
bool lower_number_convolution(Builder& builder, const Node& node, bool is_grouped);
bool lower_number_matmul(Builder& builder, const Node& node);
/// @}

}  // namespace tenon::inline v1::gpu_device
