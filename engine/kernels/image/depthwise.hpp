// SPDX-License-Identifier: Apache-2.0
// Convolutions that keep channels apart, over images with the channels innermost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

/// A square window over [batch, height, width, channels]. Outside the image there are zeros.
struct Depthwise {
  enum class Function : std::uint8_t { kClamp, kSwish, kHardSwish };
  std::size_t batch = 1, channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  std::size_t window = 3, stride = 1;
  std::ptrdiff_t pad_top = 0, pad_left = 0;
  Function function = Function::kClamp;  ///< What becomes of a sum: clamped to [low, high], or x times a sigmoid.
  float low = 0, high = 0;
};

/// Whether there is a kernel for that window, stride and number of channels on this processor.
bool has_depthwise(const Depthwise& what);
/// How many numbers pack_depthwise() writes.
std::size_t packed_depthwise_size(const Depthwise& what);
/// In the order in which the kernel of this processor reads them.
/// @param weights  [window, window, channels].
/// @param bias     One per channel.
void pack_depthwise(const Depthwise& what, const float* weights, const float* bias, float* packed);
/// @param x  bf16.
/// @param y  bf16, or f32.
void depthwise(const Depthwise& what, const std::uint16_t* x, const float* packed, std::uint16_t* y);
void depthwise(const Depthwise& what, const std::uint16_t* x, const float* packed, float* y);

}  // namespace tenon::inline v1::engine::kernels
