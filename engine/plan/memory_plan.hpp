// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of the arena's buffers.
#pragma once

#include <span>
#include <vector>

#include <tenon/engine/plan/places.hpp>

namespace tenon::inline v1::engine {

/// Pairs of buffers alive at once, up to which each is held against all others: more than a model of some thousand
/// layers has. A hub whose ten thousand readers all wait for one node has more.
inline constexpr std::size_t kMaxPairs = std::size_t{1} << 22;

/// Gives every root buffer of the arena an offset so that no two that live at the same time overlap.
/// @param steps  What each step reads and writes, in their order.
/// @param max_pairs  Up to so many buffers that live at the same time, each is placed by size, else in the order of
/// steps.
/// @return arena size.
std::size_t plan_memory(std::vector<Buffer>& buffers, const std::vector<std::span<const Operand>>& steps,
                        std::size_t max_pairs = kMaxPairs);

}  // namespace tenon::inline v1::engine
