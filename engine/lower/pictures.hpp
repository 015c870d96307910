// SPDX-License-Identifier: Apache-2.0
// Lowering of pictures that no input stage took.
#pragma once

#include <tenon/devices/cpu/engine/lowering.hpp>

namespace tenon::inline v1::engine {

/// Interpolate of f32 or u8 over two neighbouring axes, in any mode that has taps and by sizes.
bool lower_resize_by_taps(Lowering& lowering, const Chain& chain);
void register_colours(LoweringTable& table);

}  // namespace tenon::inline v1::engine
