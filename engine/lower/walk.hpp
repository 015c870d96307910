// SPDX-License-Identifier: Apache-2.0
// The walk over a model that fills a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/chain_finder.hpp>
#include <tenon/engine/lower/matmul_conv/weight_only.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Fills a plan's buffers and steps from its model: folds constants, finds chains, looks each up in the table, falls
/// back to single nodes and to reference kernels. It goes in units: a port, a node, or the nodes of a chain.
///
/// A walk that is kept can be done again when the model's nodes have other shapes: then it lowers the units that these reach, and
/// takes all others from the last time. That needs a plan of the same structure: each unit adds as many buffers and
/// steps as before, so that numbers and what was decided by them stay true.
/// @thread one at a time.
class Walk {
 public:
  /// @param plan  Has its model, ports and options; buffers and steps are added. It and the model outlive this.
  /// @param is_kept  again() may follow.
  Walk(PlanImpl& plan, const Model& model, bool is_kept);
  /// @errors kUnimplemented: nodes without any kernel; kFailedPrecondition: a dynamic shape; kDeadlineExceeded: `time` is
  /// over.
  void run(const TimeLimit& time);
  /// After run(). @param changed  For each node of the model, in order: whether its inputs may have changed.
  /// @return false: with these shapes the plan has another structure, or most of it has changed. Then, and after an error,
  /// this and its plan are of no use any more.
  bool again(const std::vector<bool>& changed, const TimeLimit& time);
  std::vector<PartRequest>& part_requests() { return builder_.part_requests(); }

 private:
  /// How much the plan had when a unit began.
  struct Marks {
    std::size_t buffers = 0, steps = 0, made = 0, optimized_out = 0, packed = 0, requests = 0;
    friend bool operator==(const Marks&, const Marks&) = default;
  };
  struct Unit {
    enum class Kind : std::uint8_t { kParameter, kResult, kGrown, kWeightOnly, kFolded, kLowered };
    Kind kind = Kind::kLowered;
    Chain chain;  ///< Its nodes; a port is one of its own.
    std::size_t port = 0;
    Marks begin;
    std::vector<Overwrite> overwrites;
    std::vector<planning::ValueId> reads, writes;
  };

  void begin_unit(Unit::Kind kind, Chain chain, std::size_t port = 0);
  Marks marks();
  bool is_known(const std::shared_ptr<Node>& node);
  bool fold(const std::shared_ptr<Node>& node);
  /// For constants that only change their type: once for all plans of the model.
  bool fold_weight(const std::shared_ptr<Node>& node);
  void find_grown();
  void find_variables();
  /// The growth of a cache's parameter or result; null for others.
  const Growth* growth_of(std::size_t index, std::size_t Growth::*port) const;
  void lower_node(const std::shared_ptr<Node>& node, const ChainFinder& chains);
  void lower_parameter(const std::shared_ptr<Node>& node, std::size_t index);
  void lower_folded(const std::shared_ptr<Node>& node);
  void lower_result(const std::shared_ptr<Node>& node, std::size_t index);
  void lower_grown(const std::shared_ptr<Node>& node);
  void lower_product_of_weight_only(const Chain& chain);
  /// The product, and the bias that is added in its step.
  Chain with_bias(const std::shared_ptr<Node>& node, const ChainFinder& chains);
  void lower_chain(const Chain& chain);
  /// Nothing is computed for outputs that have no elements.
  bool lower_empty(const std::shared_ptr<Node>& node);
  /// Lowers the node alone, by the table or by its reference kernel.
  void lower_single(const std::shared_ptr<Node>& node);
  /// Sets compute_type(), and makes a precise node read its inputs as f32.
  void begin_anchor(const std::shared_ptr<Node>& node);
  /// The node's output becomes its input.
  void pass_on(const std::shared_ptr<Node>& node);
  void use_inputs(const std::shared_ptr<Node>& node, int change);
  void drop_folded(const std::shared_ptr<Node>& reader);

  class Repetition;

  PlanImpl& plan_;
  const Model& model_;
  const bool is_kept_;
  const NodeVector order_;
  PlanBuilder builder_;
  std::optional<WeightOnlyProducts> weight_only_;
  std::unordered_set<const Node*> biases_;                ///< Added in the steps of such products.
  std::unordered_map<const Node*, const Growth*> grown_;  ///< The nodes that work on caches in place.
  // While walking for the first time:
  std::set<const Chain*> broken_;                             ///< Only partly known: the rest is lowered node by node.
  std::map<const Chain*, NodeVector> waiting_;                ///< For the last node of their chain.
  std::map<std::string, std::shared_ptr<Node>> assignments_;  ///< Only the last assignment of a variable counts.
  // Only if kept:
  std::vector<Unit> units_;
};

/// A plan before its memory is laid out, with the walk that fills it.
struct Lowered {
  Lowered(PlanImpl described, bool is_kept) : plan(std::move(described)), walk(plan, *plan.model, is_kept) {}
  PlanImpl plan;
  Walk walk;
};

}  // namespace tenon::inline v1::engine
