// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices that the model stores in 4 or 8 bits: they stay so in memory.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/target.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::gpu_device {

/// Input 1 of a MatMul or GroupedMatMul as the nodes that would expand it have it: scale * (Convert(numbers) - zero point), reshaped or
/// not. The rows of all groups' matrices follow each other.
struct FewBits {
  Tensor numbers;                  ///< u4, i4, nf4, u8 or i8: [n, k], or [n, groups, k / groups].
  Tensor scales;                   ///< f32, broadcast to the numbers' shape; one for each group, or fewer.
  Tensor zero_points;              ///< The same, or empty.
  std::size_t groups = 1;          ///< In each row.
  std::vector<const Node*> nodes;  ///< All between the numbers and the product.
};

/// Whether products multiply such weights as they are stored: CPUs expand them once, when a model is compiled.
inline bool keeps_few_bits(const Target& target) { return takes_matrices(target); }

/// @return nothing: the node is no such product, or its groups are no whole runs of 8.
std::optional<FewBits> few_bits_of(const Node& node);

/// What tools for language models write, weights of few bits that are expanded in f16 and then become f32, is expanded in f32, as
/// few_bits_of() knows it. Run it before constants are folded.
pass::Pass widen_few_bits();

/// Nodes that only expand such weights: all that read them are such products, and each other.
std::set<const Node*> few_bits_expansions(const NodeVector& order);

}  // namespace tenon::inline v1::gpu_device
