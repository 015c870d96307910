// SPDX-License-Identifier: Apache-2.0
// PlanBuilder of pictures that no input stage took.
#pragma once

#include <tenon/engine/lower/builder.hpp>

namespace tenon::inline v1::engine {

/// Interpolate of f32 or u8 over two neighbouring axes, in any mode that has taps and by sizes.
bool lower_resize_by_taps(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
