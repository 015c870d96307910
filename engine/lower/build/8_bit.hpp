// SPDX-License-Identifier: Apache-2.0
// Element-wise operations and joins between 8-bit numbers, if the graph rounds the result to 8 bits.
#pragma once

#include <tenon/engine/lower/build/builder.hpp>

namespace tenon::inline v1::engine {

// Each takes a chain of two: the operation, and the FakeQuantize after it. @return false if the operands do not lie
// in 8 bits, or the chain is another.

/// A function of one tensor (here the chain may be longer, as in x * sigmoid(x)), as a table of 256 numbers.
bool lower_8_bit_activation(PlanBuilder& builder, const Chain& chain);
/// Sum, difference or product of two tensors of one shape.
bool lower_8_bit_binary(PlanBuilder& builder, const Chain& chain);
/// Parts with other scales are requantized while they are joined.
bool lower_8_bit_concat(PlanBuilder& builder, const Chain& chain);

}  // namespace tenon::inline v1::engine
