// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions whose windows do not overlap.
#pragma once

#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/window.hpp>

namespace tenon::inline v1::engine {

/// Lowers a transposed convolution of images whose kernel is as large as its stride, as in U-Nets: a 1x1 convolution to
/// all points of a window side by side, then a move of each block of channels to its pixel. `weights` is f32 [I, O,
/// height, width]. @return false for other windows, blocks of channels that this CPU does not prefer, and chains that
/// do more than scale, shift and activate.
bool lower_upsampling(PlanBuilder& builder, const Chain& chain, const Window& window, const Tensor& weights);

}  // namespace tenon::inline v1::engine
