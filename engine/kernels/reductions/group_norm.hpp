// SPDX-License-Identifier: Apache-2.0
// Mean 0 and variance 1 over groups of channels.
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

}  // namespace tenon::inline v1::engine::kernels
