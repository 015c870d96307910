// SPDX-License-Identifier: Apache-2.0
// Edges between USM and host memory, and between contexts of Level Zero.
#pragma once

#include <span>

#include <tenon/core/edge.hpp>
#include <tenon/frameworks/level_zero/context.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of level_zero";
inline const Native* native_of(const Context& context) {
  const auto* usm = context.as<UsmContext>();
  return usm ? &usm->native() : nullptr;
}

/// In the order in which they are asked: level_zero.usm->cpu, cpu->level_zero.usm, its copy, and between contexts.
/// @thread any.
std::span<const Edge* const> usm_edges();

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
