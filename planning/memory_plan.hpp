// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of the arena's buffers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::planning {

/// Up to this many pairs of buffers alive at once, each buffer is compared with all others. A model of some thousand
/// layers has fewer pairs; a hub whose ten thousand readers all wait for one node has more.
inline constexpr std::size_t kMaxPairs = std::size_t{1} << 22;

/// Gives every root buffer of the arena an offset so that no two that live at the same time overlap.
/// @param steps  Operands of each step, in order.
/// @param max_pairs  Up to this many pairs of buffers that live at the same time, buffers are placed by size, else in
/// the order of steps.
/// @return arena size.
std::size_t plan_memory(std::vector<Buffer>& buffers, const std::vector<std::span<const Operand>>& steps,
                        std::size_t max_pairs = kMaxPairs);

}  // namespace tenon::inline v1::planning
