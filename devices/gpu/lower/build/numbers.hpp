// SPDX-License-Identifier: Apache-2.0
// What of a model is computed with 8-bit numbers: its convolutions and products, and the values between them.
#pragma once

#include <map>
#include <set>
#include <string>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/lower/build/weights.hpp>
#include <tenon/devices/gpu/target.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/planning/quantization.hpp>

namespace tenon::inline v1::gpu_device {

/// Facts about the nodes of one model, whose constants are folded but for what expands 8-bit weights.
class Numbers {
 public:
  /// None.
  Numbers() = default;
  /// @param kept  Where weights that are found are kept; null: nowhere.
  explicit Numbers(const Model& model, PackedWeights* kept = nullptr);

  /// What the left side's numbers mean if both sides of a convolution or product are such; null else.
  const planning::Quantization* product(const Node& node) const { return find(products_, node); }
  /// As which output 0 lies in memory; null: as reals.
  const planning::Quantization* stored(const Node& node) const { return find(stored_, node); }
  /// Whether the node only expands the weights of such products, so that it needs no kernel.
  bool is_expansion(const Node& node) const { return expansions_.count(&node) > 0; }

 private:
  using Meanings = std::map<const Node*, planning::Quantization>;
  static const planning::Quantization* find(const Meanings& all, const Node& node) {
    const auto found = all.find(&node);
    return found == all.end() ? nullptr : &found->second;
  }
  void find_products(const NodeVector& order, PackedWeights* kept);
  void find_stored(const NodeVector& order);
  void find_expansions(const NodeVector& order);

  Meanings products_, stored_;
  Meanings rounded_;  ///< Outputs whose elements are such numbers, however they lie.
  std::set<const Node*> expansions_;
};

/// The weights of such a product: of a convolution as its filters lie, of a matrix product as its right side does.
/// @pre Numbers::product(node).
planning::QuantizedWeights number_weights(const Node& node, PackedWeights& kept);

/// Whether the node makes f32 of a constant of f16, as which kernels would store its result anyway.
bool is_stored_in_halves(const Node& node, const Target& target);

/// Folds what expands 8-bit weights that are multiplied as reals, however large they become.
/// @param target  Which others stay, as Numbers and few_bits_expansions() find them, and f16 that products and tables read.
pass::Pass fold_expansions(const Target& target);

}  // namespace tenon::inline v1::gpu_device
