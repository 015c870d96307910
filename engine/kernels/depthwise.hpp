// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of bf16, with the channels in blocks of 16 or innermost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace tenon::inline v1::engine::kernels {

struct Depthwise {
  static constexpr std::size_t kBlock = 16, kLargestKernel = 7;
  std::size_t batch = 1, channels = 1;
  bool channels_last = false;  ///< Else in blocks, the last one filled up with zeros.
  std::size_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::size_t kernel_height = 1, kernel_width = 1;  ///< At most kLargestKernel each.
  std::size_t stride_height = 1, stride_width = 1;  ///< 1 or 2 along the width.
  std::ptrdiff_t pad_top = 0, pad_left = 0;
  /// What results are cut to: [0, 6] is ReLU6.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();

  std::size_t blocks() const { return (channels + kBlock - 1) / kBlock; }
  /// Elements from a pixel to the next.
  std::size_t pixel() const { return channels_last ? channels : kBlock; }
};

/// src: bf16 [batch, blocks, in_height, in_width, 16] or [batch, in_height, in_width, channels]; dst: the same with the
/// output's height and width; weights: f32 [blocks, kernel_height, kernel_width, 16]; bias: f32 [blocks, 16]. Sums in
/// f32. Split over the workers of the calling arena.
void depthwise_bf16(const Depthwise& problem, const std::uint16_t* src, const float* weights, const float* bias,
                    std::uint16_t* dst);

}  // namespace tenon::inline v1::engine::kernels
