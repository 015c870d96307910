// SPDX-License-Identifier: Apache-2.0
// Lowering of picture operations outside input stages.
#pragma once

#include <tenon/engine/lower/build/builder.hpp>

namespace tenon::inline v1::engine {

/// Interpolate of f32 or u8 over two neighbouring axes, by sizes, in any mode that computes weighted sums.
bool lower_resize_by_taps(PlanBuilder& builder, const Chain& chain);

/// Interpolate of f32 over any axes, by sizes or scales, with zeros around the source: axis after axis.
bool lower_resize_by_axes(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
