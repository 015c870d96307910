// SPDX-License-Identifier: Apache-2.0
// Mean 0 and variance 1 over groups of channels, or over the places of each channel.
#pragma once

#include <cstddef>

namespace tenon::inline v1::engine::kernels {

struct GroupNorm {
  std::size_t pictures = 1, groups = 1, channels = 1;  ///< Channels of a group.
  std::size_t plane = 1;                               ///< Elements of a channel.
  std::size_t block = 1;  ///< Channels side by side: 1, or whole blocks that a group consists of.
  float epsilon = 0;
};

/// x, y: f32 [pictures, groups, channels / block, plane, block]; scale, bias: f32 [groups * channels]. x may be y. Split
/// over the workers of the calling arena.
void group_norm(const GroupNorm& what, const float* x, const float* scale, const float* bias, float* y);

struct ChannelNorm {
  std::size_t pictures = 1;  ///< Times blocks of channels.
  std::size_t plane = 1;
  std::size_t pixel = 1;  ///< Channels side by side.
  float epsilon = 0;
  bool is_outside = false;  ///< Epsilon is added to the deviation, not to the variance.
  bool divides = true;      ///< By the deviation.
};

/// x, y: f32 [pictures, plane, pixel]; each channel by itself. x may be y. Split over the workers of the calling arena.
void channel_norm(const ChannelNorm& what, const float* x, float* y);

}  // namespace tenon::inline v1::engine::kernels
