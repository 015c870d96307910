// SPDX-License-Identifier: Apache-2.0
// Convolutions over channels last: as products of matrices, or channel by channel.
#pragma once

#include <tenon/devices/gpu/lower/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// Sets the node's output if the device and the node suit these kernels.
/// @return whether they do.
bool lower_matrix_convolution(Builder& builder, const Node& node, bool is_grouped);

}  // namespace tenon::inline v1::gpu_device
