// SPDX-License-Identifier: Apache-2.0
// Convolutions over channels last: as products of matrices, or channel by channel.
#pragma once

#include <cstdint>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/windows.hpp>

namespace tenon::inline v1::gpu_device {

/// The taps of a window are bits of a word.
constexpr std::int64_t kTapBits = 32;

/// The window of the product's rows: what differs from the node's own.
struct WindowProduct {
  Picture data;
  View filters;
  Spatial3 window;
  std::size_t channels = 0;      ///< The input channels of a tap and a group, with zeros up to a whole chunk.
  std::size_t out_channels = 0;  ///< The output channels of a group.
  std::size_t groups = 1;        ///< Side by side in a pixel.
  std::size_t weights = 0;       ///< The number of weights of all filters, as they are given.
};

/// Adds the launch: tiles of products of the windows of a picture by filters [groups, out_channels, taps, channels].
/// @param root  What is stored: over the sums, which are int for 8-bit numbers (data.view's type).
void emit_window_product(Builder& builder, const Node& node, const WindowProduct& what, const ExpressionRef& root,
                         const View& out);

/// Sets the node's output if the device and the node suit these kernels.
/// @return whether they do.
bool lower_matrix_convolution(Builder& builder, const Node& node, bool is_grouped);

}  // namespace tenon::inline v1::gpu_device
