// SPDX-License-Identifier: Apache-2.0
// Nodes that stay in f32 in a plan that computes in bf16.
#pragma once

#include <cstddef>
#include <string_view>

#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/precise.hpp>  // IWYU pragma: export

namespace tenon::inline v1::engine {

/// Whether input `index` of such a node says where something lies, or in which order: rounding it to bf16 would choose
/// other places.
bool names_places(std::string_view type, std::size_t index);

/// Marks the nodes whose values decide: bf16 holds eight digits of a binary number, so an angle of 4,000 is 8 off, an index
/// of 300 is another index, and scores that are near each other are equal. Values decide that a sine, cosine or tangent,
/// a step function, a remainder, a comparison, a conversion to integers or booleans, a choice of places (TopK, NonZero,
/// suppression, sampling, regions) or a size reads.
///
/// What makes such a value is marked, node by node, back to the nearest matrix product or convolution, that one
/// included. What that one reads is not: its rounding is the network's noise, which bf16 accepts, and so the last layer
/// of a classifier is f32, and the layers before it are as fast as they were. Normalisations, recurrences and attention end the walk,
/// too: behind them lie the many layers of a residual network. It goes into bodies of loops and branches, and out of them.
///
/// Two kinds decide less. What a comparison chooses between itself and another (x > 0 ? x : a * x) is an activation, and
/// not marked. What is converted to 8 bits or rounded to levels, as quantised networks do with every activation, is marked up to the product
/// but without it: its result is f32, so that numbers up to 255 are not rounded twice. So is that of any product of
/// integers of 8 bits, which is exact in bf16.
void mark_deciding_nodes(const Model& model);

}  // namespace tenon::inline v1::engine
