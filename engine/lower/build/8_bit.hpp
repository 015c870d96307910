// SPDX-License-Identifier: Apache-2.0
// Element-wise operations on 8-bit numbers, and joins of these.
#pragma once

#include <tenon/engine/lower/build/builder.hpp>

namespace tenon::inline v1::engine {

// Each takes a chain of two: the operation, and the FakeQuantize after it. @return false if the operands do not lie
// in 8 bits, or the chain is another.

/// A function of one tensor (here the chain may be longer, as in x * sigmoid(x), or the function alone, with real
/// results), as a table of 256 numbers.
bool lower_8_bit_activation(PlanBuilder& builder, const Chain& chain);
/// Sum, difference or product of two tensors of one shape; a Relu may stand before the rounding.
bool lower_8_bit_binary(PlanBuilder& builder, const Chain& chain);
/// Parts with other scales are requantized while they are joined.
bool lower_8_bit_concat(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
