// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution by our own kernel.
#pragma once

#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/builder.hpp>
#include <tenon/engine/lower/window.hpp>

namespace tenon::inline v1::engine {

/// Lowers a depthwise convolution of images in bf16, where oneDNN 3.2 is slow: `weights` is f32 [C, 1, 1, height,
/// width].
/// @return false if the plan computes in another type, the CPU prefers other blocks, or the chain does more than
/// scale, shift and clamp.
bool lower_depthwise(PlanBuilder& builder, const Chain& chain, const Window& window, const Tensor& weights);

}  // namespace tenon::inline v1::engine
