// SPDX-License-Identifier: Apache-2.0
// Convolutions and products on CPUs: over channels last, sums in vector registers.
#pragma once

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// Each sets the node's output if the device is a CPU on which f32 is f32, and the node suits these kernels: filters and right
/// sides are constants, windows move over one or two axes.
/// @return whether it did.
/// @{
bool lower_register_convolution(Builder& builder, const Node& node);
/// The same for a transposed convolution whose windows do not overlap.
bool lower_register_unfold(Builder& builder, const Node& node);
/// The same for a depthwise convolution.
bool lower_register_depthwise(Builder& builder, const Node& node);
/// @param left  [..., m, k], as it is multiplied. @param weights  [k, n]. @param is_transposed  They are [n, k].
bool lower_register_matmul(Builder& builder, const Node& node, const View& left, const Tensor& weights,
                           bool is_transposed);
/// @}

}  // namespace tenon::inline v1::gpu_device
