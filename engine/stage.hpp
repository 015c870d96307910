// SPDX-License-Identifier: Apache-2.0
// A model whose shapes are open, and what runs it once the shapes of its inputs are known.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/lower/relowering.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// A model after its passes. Plans for shapes are made from copies of it, which go from one maker to the next: giving
/// one other shapes costs much less than copying.
/// @thread all members from any thread.
class OpenModel {
 public:
  /// @param prepared  Not changed from now on. Without states.
  explicit OpenModel(std::shared_ptr<const Model> prepared);

  /// Unique in the process, unlike an address.
  std::uint64_t id() const { return id_; }
  const Model& model() const { return *prepared_; }
  /// A copy, its nodes in order, and what its last plan left.
  struct Copy {
    std::shared_ptr<Model> model;
    NodeVector order;
    std::vector<std::vector<std::uint32_t>> sources;  ///< Of each node, where they stand in the order.
    std::set<std::uint32_t> open;                     ///< Nodes of shapes or types that are not known.
    Relowering before;
  };
  /// A copy with these types and shapes. @errors those of shape inference, which name the node.
  Copy take(std::span<const Tensor> inputs);
  /// For the next one, when nothing refers to its shapes any more.
  void give_back(Copy copy);

 private:
  const std::uint64_t id_;
  const std::shared_ptr<const Model> prepared_;
  std::mutex mutex_;
  std::vector<Copy> idle_;
};

/// Output `second` of a node, as the key of a value.
using ValueKey = std::pair<const Node*, std::size_t>;
inline ValueKey key_of(const Output<Node>& output) { return {output.get_node(), output.get_index()}; }

/// What runs an open model with inputs of certain types and shapes: a plan of the whole, or, if the shapes of some
/// nodes depend on values, a plan of what comes before these, the nodes, and an open model of what comes after.
/// Immutable, but for what the store notes.
struct Stage {
  std::uint64_t model_id = 0;
  std::vector<std::pair<ElementType, Shape>> inputs;
  std::vector<std::size_t> capacities;  ///< Of the caches that grow in place.
  std::shared_ptr<const Plan> plan;     ///< Of the whole model, or of `before`; null if nothing comes before.
  /// What the caches need, if their capacities are too small: then this is all that is known.
  std::vector<std::size_t> needed;
  bool refuses_growth = false;  ///< The caches cannot grow in place with these shapes: this is all that is known.

  bool is_relowered =
      false;  ///< The plan was made from the one before, of which it has what other shapes leave as it is.
  bool is_cut = false;
  // Only for a model that is cut:
  std::shared_ptr<const Model> model;   ///< The copy with those shapes; the members below refer to its nodes.
  std::shared_ptr<const Model> before;  ///< Keeps the keys' nodes alive once the rest no longer reads them.
  std::vector<ValueKey> before_outputs;
  NodeVector cuts;
  std::shared_ptr<OpenModel> after;  ///< Null when nothing is left.
  std::vector<ValueKey> after_inputs;
  std::vector<ValueKey> after_outputs;
  std::map<const Model*, std::shared_ptr<OpenModel>> bodies;  ///< Of the cut nodes.

  std::size_t held_bytes = 0;
  mutable std::atomic<bool> is_evicted{false};  ///< The store keeps it no longer, nor should requests.

  bool is_for(std::uint64_t id, std::span<const Tensor> tensors, std::span<const Growth> growths) const;
};

/// Makes the stage; slow. @param shared  Holds the model's constants.
/// @errors as Plan::compile, and those of shape inference, which name the node.
std::shared_ptr<Stage> make_stage(OpenModel& model, std::span<const Tensor> inputs, std::span<const Growth> growths,
                                  const Options& options, SharedParts& shared);

}  // namespace tenon::inline v1::engine
