// SPDX-License-Identifier: Apache-2.0
// Lowering a model again when its inputs have other shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// The walk over a model that gets one set of shapes after the other. A plan is made from the plan before: what other
/// shapes do not reach keeps its launches, as long as the structure stays: each node adds as many buffers and launches as
/// before. Values that follow from shapes are constants of a plan, the host computes small ones that follow from these,
/// and what only such nodes read gets no kernel.
/// @thread one at a time.
class ModelWalk {
 public:
  /// @param model  After run_moving_passes(), without states and control flow. @param order  Its nodes.
  ModelWalk(std::shared_ptr<const Model> model, const NodeVector& order, const Target& target, PackedWeights& weights);

  /// Whether all nodes that need a kernel have one with the shapes of now, which are known.
  /// @param changed  For each node in order: whether its inputs may have changed since the last run.
  bool can_run(const std::vector<bool>& changed);
  /// @pre can_run() with the same nodes. @errors as lower_model(): the walk is of no use then.
  LaunchPlan run(const std::vector<bool>& changed, const TimeLimit& time);
  /// Nodes that the last run lowered; others were taken over.
  std::size_t lowered() const { return lowered_; }

 private:
  using Key = Builder::Key;
  using Value = Builder::Value;
  /// What becomes of a node.
  enum class Fate : std::uint8_t { kDead, kKnown, kLowered };
  struct Fates {
    std::vector<Fate> of;                ///< Each node in order.
    std::map<Key, std::size_t> readers;  ///< How many nodes that are lowered read a value.
    friend bool operator==(const Fates&, const Fates&) = default;
  };
  /// A part of the walk: a port or another node.
  struct Part {
    std::size_t at = 0;      ///< The node's place in the order.
    std::uint32_t port = 0;  ///< Its index among parameters or results.
  };

  Fates find_fates() const;
  bool again(const std::vector<bool>& changed, const TimeLimit& time);
  void lower(std::size_t index);
  void lower_node(const Node& node, Fate fate);
  bool fold(const Node& node);
  /// What a part of the walk before has added and left.
  void take_over(const Builder::Unit& unit, LaunchPlan& before, std::size_t buffers_end, std::size_t launches_end);
  /// Notes which values the part has left otherwise than before. @return false: the structure is another.
  bool settle(const Builder::Unit& was, const LaunchPlan& before, std::size_t buffers_end, std::size_t launches_end,
              const Builder::Unit& is);
  static bool is_same(const Value& was, Value& is);

  const std::shared_ptr<const Model> model_;
  const NodeVector& order_;
  const Target target_;
  PackedWeights& weights_;
  std::unordered_map<const Node*, std::size_t> places_;  ///< In the order.
  std::vector<Part> parts_;
  std::vector<bool> known_;  ///< Nodes, in order, whose outputs have values.
  Fates fates_;
  std::optional<Fates> next_fates_;  ///< Those of the next run, if they are others.
  std::unique_ptr<Builder> builder_;
  std::vector<Builder::Unit> units_;         ///< One for each part.
  std::vector<Builder::Unit> units_before_;  ///< Those of the run before the last one...
  LaunchPlan before_;                        ///< ...and what it had of buffers and launches; in parts taken over.
  std::unordered_set<Key, Builder::KeyHash>
      moved_;  ///< Values that are not what they were at this place of the walk before.
  std::size_t lowered_ = 0;
};

}  // namespace tenon::inline v1::gpu_device
