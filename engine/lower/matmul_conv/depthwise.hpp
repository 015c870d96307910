// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions by our own kernel.
#pragma once

#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/window.hpp>

namespace tenon::inline v1::engine {

/// In bf16 over images with the channels innermost, with at most one function behind it.
/// @param weights  f32, [channels, 1, 1, window, window].
/// @return false: oneDNN computes it.
bool lower_depthwise(PlanBuilder& builder, const Chain& chain, const Window& window, const Tensor& weights);

}  // namespace tenon::inline v1::engine
