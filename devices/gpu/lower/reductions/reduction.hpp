// SPDX-License-Identifier: Apache-2.0
// Reductions as parts of other operations.
#pragma once

#include <cstdint>
#include <vector>

#include <tenon/devices/gpu/lower/build/builder.hpp>

namespace tenon::inline v1::gpu_device {

/// Adds the launch that reduces a tree over views of `shape` along axes.
/// @param rule  "ReduceSum": as the operation is called.
/// @return its result, repeated to `shape`: f32 of narrower reals.
ExpressionRef reduce(Builder& builder, const Node& node, const char* rule, const ExpressionRef& input,
                     const Shape& shape, const std::vector<std::int64_t>& axes);

}  // namespace tenon::inline v1::gpu_device
