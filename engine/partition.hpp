// SPDX-License-Identifier: Apache-2.0
// What runs a dynamic model once the shapes of its inputs are known: plans, and the nodes at which it is cut.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/dynamic_model.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/planning/partition.hpp>

namespace tenon::inline v1::engine {

using planning::key_of;
using planning::ValueKey;

/// What runs a dynamic model with inputs of certain types and shapes: a plan of the whole, or, if the shapes of some
/// nodes depend on values, a plan of what comes before these, the nodes, and a dynamic model of what comes after.
/// Immutable, but for what the store notes.
struct Subgraph {
  std::uint64_t model_id = 0;
  std::vector<std::pair<ElementType, Shape>> inputs;
  std::vector<std::size_t> capacities;  ///< For each cache that grows in place.
  std::shared_ptr<const Plan> plan;     ///< The plan of the whole model, or of `before`; null if nothing comes before.
  /// What the caches need, if their capacities are too small: then this is all that is known.
  std::vector<std::size_t> needed;
  bool refuses_growth = false;  ///< The caches cannot grow in place with these shapes: this is all that is known.

  /// The plan was made from the one before, of which it has what other shapes leave as it is.
  bool is_relowered = false;
  bool is_cut = false;
  // Only for a model that is cut:
  std::shared_ptr<const Model> model;   ///< The copy with those shapes; the members below refer to its nodes.
  std::shared_ptr<const Model> before;  ///< Keeps the keys' nodes alive once the rest no longer reads them.
  std::vector<ValueKey> before_outputs;
  NodeVector cuts;
  std::shared_ptr<DynamicModel> after;  ///< Null when nothing is left.
  std::vector<ValueKey> after_inputs;
  std::vector<ValueKey> after_outputs;
  std::map<const Model*, std::shared_ptr<DynamicModel>> bodies;  ///< The cut nodes' bodies.

  std::size_t held_bytes = 0;
  mutable std::atomic<bool> is_evicted{false};  ///< The store keeps it no longer, nor should requests.

  bool is_for(std::uint64_t id, std::span<const Tensor> tensors, std::span<const Growth> growths) const;
};

/// Makes the plan, or partitions the model and plans what comes before the cut; slow.
/// @param shared  Holds the model's constants.
/// @errors as Plan::compile, and those of shape inference, which name the node.
std::shared_ptr<Subgraph> make_subgraph(DynamicModel& model, std::span<const Tensor> inputs,
                                        std::span<const Growth> growths, const Options& options, SharedParts& shared);

}  // namespace tenon::inline v1::engine
