// SPDX-License-Identifier: Apache-2.0
// Where a plan that computes in bf16 stays in f32.
#pragma once

#include <tenon/devices/cpu/engine/lowering.hpp>

namespace tenon::inline v1::engine {

/// Type of what a convolution, product or normalization makes for the readers of `last`. What no further one reads, be
/// it over other operations, only becomes a result of the model (the coordinates of boxes, say), where bf16 would lose
/// digits and gain no time: that is f32.
inline ElementType result_type(const Lowering& lowering, const std::shared_ptr<Node>& last, ElementType computed) {
  return computed == ElementType::kF32 || lowering.is_before_product(last.get()) ? computed : ElementType::kF32;
}

}  // namespace tenon::inline v1::engine
