// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices that the model stores in 4 or 8 bits: they stay so in memory.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/kernels/low_bit/weight_only.hpp>  // IWYU pragma: export
#include <tenon/engine/kernels/low_bit/weight_only_matrix.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Input 1 of a MatMul or GroupedMatMul, read from the nodes that would expand it.
struct WeightOnlyWeights {
  kernels::WeightOnly problem;  ///< The problem for one row.
  Tensor numbers;               ///< [columns, depth]; the columns of all groups follow each other.
  Tensor scales;                ///< f32 [columns, groups]
  Tensor zero_points;           ///< The same, or empty: `zero_point`.
  float zero_point = 0;
  NodeVector nodes;  ///< What is read so: all nodes between the stored numbers and the product.
  /// The product's only reader, if it adds the same numbers to each row, and these [columns].
  std::shared_ptr<Node> bias_node;
  Tensor bias;
};

/// scale * (Convert(constant) - zero point), reshaped or not, in the forms that OpenVINO's and ONNX's quantisers write: one
/// scale and zero point per group of neighbours along the depth.
/// @return nothing: not of that form, or 8 bits whose left side has 8 bits too, for which there are better kernels.
std::optional<WeightOnlyWeights> weight_only_weights(PlanBuilder& builder, const std::shared_ptr<Node>& matmul);

/// The products of a model with such weights.
class WeightOnlyProducts {
 public:
  WeightOnlyProducts(PlanBuilder& builder, const NodeVector& order);
  /// Null if the node is no such product.
  const WeightOnlyWeights* find(const Node* matmul) const;
  /// Whether nothing but such products reads the node, which then needs no step.
  bool absorbs(const Node* node) const { return absorbed_.count(node) > 0; }

 private:
  std::unordered_map<const Node*, WeightOnlyWeights> weights_;
  std::unordered_set<const Node*> absorbed_;
};

/// @param chain  The product, and its bias_node if that is computed with it.
void lower_weight_only(PlanBuilder& builder, const Chain& chain, const WeightOnlyWeights& weights);

/// Whether the node is a GroupedMatMul of f32 and of no empty sides, with an end for each group.
bool is_grouped_product(const Node& node);
/// The same for such a product. @param problem  The product of one row with the matrices of all groups below each other.
void lower_grouped_weight_only(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                               const WeightOnlyWeights& weights, kernels::WeightOnly problem);

}  // namespace tenon::inline v1::engine
