// SPDX-License-Identifier: Apache-2.0
// Tensors that stand for constants of which only packed forms exist.
#pragma once

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon::inline v1::engine {

/// A tensor that has an address and a shape but takes no memory until it is read (it then reads as zeros).
/// @errors kResourceExhausted.
Tensor make_stand_in(ElementType type, const Shape& shape);
/// True if any of its pages was read, or if that can't be determined.
bool was_touched(const Tensor& stand_in);

}  // namespace tenon::inline v1::engine
