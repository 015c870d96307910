// SPDX-License-Identifier: Apache-2.0
// A model whose shapes, or whose kernels' constants, are known only with its inputs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/lower/walk.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/devices/gpu/plan/plan_ahead.hpp>
#include <tenon/devices/gpu/plan/plan_range.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/planning/plan_store.hpp>
#include <tenon/planning/shaped_copy.hpp>

namespace tenon::inline v1::gpu_device {

class DeferredModel;

/// What a subgraph is made for, of one input.
struct InputState {
  Tensor tensor;  ///< Empty if it is a batch in several tensors.
  Shape shape;    ///< The whole batch's.
  InputForm form;
};

/// What runs a deferred model with certain inputs: a plan, and, if more depends on values that its kernels compute, a
/// deferred model of the rest. Immutable.
struct PlannedSubgraph {
  std::shared_ptr<const LaunchPlan> plan;
  std::shared_ptr<DeferredModel> rest;  ///< Null: the plan computes all results.
  /// A value that the host hands on.
  struct Source {
    enum class Kind { kInput, kOutput, kRest };
    Kind kind = Kind::kOutput;
    std::size_t index = 0;  ///< Among the subgraph's inputs, the plan's outputs, or the rest's results.
  };
  std::vector<Source> rest_inputs;
  std::vector<Source> results;  ///< The deferred model's: outputs of the plan, or results of the rest.
};

template <typename Key, typename Hash>
using SubgraphStore = planning::PlanStore<Key, PlannedSubgraph, Hash>;
/// The subgraphs that one model keeps: those used last.
inline constexpr planning::StoreBounds kKeptSubgraphs{.plans = 256};

/// For keys of which only the forms differ.
struct FormHash {
  std::size_t operator()(const std::vector<InputForm>& forms) const;
};

/// That of a plan which computes all results.
std::shared_ptr<const PlannedSubgraph> whole_subgraph(std::shared_ptr<const LaunchPlan> plan);

/// Inputs that say what others are shaped like (a Reshape's shape, a Slice's positions, a resize's scales) are read on
/// the host, and become constants of the plan. Where kernels compute such values, or say how much they put out, the
/// model is cut: the rest is a deferred model of its own, with what the first part made as its inputs.
/// @thread all members from any thread.
class DeferredModel {
 public:
  struct Maker {
    std::function<std::shared_ptr<Model>(const Model& model)> prepare;  ///< run_passes().
    /// The plan of a model of known shapes, but for nodes with a bound (lower/table.hpp), for inputs of these forms.
    std::function<std::shared_ptr<const LaunchPlan>(const std::shared_ptr<const Model>& model,
                                                    const std::vector<InputForm>& forms)>
        plan;
    std::function<std::shared_ptr<Model>(const Model& model)> prepare_moving;  ///< run_moving_passes().
    std::function<std::unique_ptr<ModelWalk>(const std::shared_ptr<const Model>& model, const NodeVector& order)> walk;
    /// The plan of the walk's model with the shapes of now, for plain inputs. @param before  The walk's last one, or null.
    std::function<std::shared_ptr<const LaunchPlan>(ModelWalk& walk, const std::vector<bool>& changed,
                                                    const std::shared_ptr<const Model>& model,
                                                    const std::shared_ptr<const LaunchPlan>& before)>
        plan_again;
  };
  /// What plans have cost.
  struct Counts {
    std::size_t ahead = 0;    ///< Plans that were there before they were needed.
    std::size_t moved = 0;    ///< Plans that were made from an open copy of the model...
    std::size_t asked = 0;    ///< ...nodes that shape inference asked for these...
    std::size_t lowered = 0;  ///< ...and nodes that were lowered; all others were taken over.
  };

  /// @param prepared  After run_passes().
  DeferredModel(std::shared_ptr<const Model> prepared, const Target& target, Maker make);

  /// Whether the model needs its inputs to be planned.
  static bool is_open(const Model& model, const Target& target);

  /// For these inputs' shapes and forms, and the values of those that decide; those used last are kept.
  /// @cost a read of each input whose values decide; the first time, that of compiling.
  /// @errors those of shape inference and of the maker; kUnimplemented: no cut helps, naming the nodes.
  std::shared_ptr<const PlannedSubgraph> subgraph_for(const std::vector<InputState>& inputs);
  /// For inputs that are expected, of which only shapes and forms are known. Null: there is no plan for them by now, or values decide.
  std::shared_ptr<const PlannedSubgraph> subgraph_there(const std::vector<InputState>& inputs);
  /// The subgraphs of the last inference, the first first. For reports.
  std::vector<std::shared_ptr<const PlannedSubgraph>> last_subgraphs() const;
  Counts counts() const;

 private:
  /// What a subgraph is for.
  struct Key {
    std::vector<Shape> shapes;
    std::vector<InputForm> forms;
    std::vector<std::string> values;  ///< The bytes of inputs that decide.
    friend bool operator==(const Key&, const Key&) = default;
  };
  using Deciding = std::set<std::size_t>;  ///< Inputs.
  using Values = std::vector<std::string>;
  static inline const Values kNoValues;
  static Values values_of(const std::vector<InputState>& inputs, const Deciding& deciding);
  /// Inputs as a key, without a copy.
  struct Wanted {
    const std::vector<InputState>& inputs;
    const Values& values;
    explicit operator Key() const;
    friend bool operator==(const Wanted& wanted, const Key& key) { return wanted.is(key); }
    bool is(const Key& key) const;
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const;
    std::size_t operator()(const Wanted& wanted) const;
  };
  /// The model with these inputs' shapes, and the values of those that decide, after the passes.
  /// @param deciding  Those that are found to decide are added.
  std::shared_ptr<Model> closed(const std::vector<InputState>& inputs, Deciding& deciding) const;
  std::shared_ptr<const PlannedSubgraph> make_subgraph(const std::vector<InputState>& inputs, Deciding& deciding);
  /// A copy of the model that takes other shapes, and what its last plan left.
  struct Copy {
    Copy(const std::shared_ptr<Model>& model, const Maker& make);
    planning::ShapedCopy shaped;
    std::unique_ptr<ModelWalk> walk;
    std::vector<bool> changed;  ///< Nodes, in order, whose inputs may have changed since its last plan.
    std::shared_ptr<const LaunchPlan> plan;
  };
  /// Finds out whether the passes do with known shapes what they have done with open ones. @param closed  With known shapes.
  void try_to_move(const Model& closed);
  /// The plan for inputs in plain memory, made ahead or from the one before. Null: it has to be made from nothing.
  std::shared_ptr<const LaunchPlan> known_or_moved(const std::vector<Shape>& shapes);
  /// That a plan for these shapes was made ahead, and is used.
  void note_ahead(const std::vector<Shape>& shapes);
  /// The plan made from the one before. @param left  So many copies of the model are left to others.
  /// @return null as known_or_moved().
  std::shared_ptr<const LaunchPlan> move(const std::vector<Shape>& shapes, std::size_t left = 0);
  /// The same on a thread of the model's own.
  std::shared_ptr<const LaunchPlan> move_ahead(const std::vector<Shape>& shapes, std::size_t left);
  std::shared_ptr<const LaunchPlan> move(Copy& copy, const std::vector<Shape>& shapes);

  const std::shared_ptr<const Model> prepared_;
  const Target target_;
  const Maker make_;
  mutable std::mutex mutex_;
  Deciding deciding_;  ///< As far as it is known.
  bool was_tried_ = false;
  std::shared_ptr<Model> moving_;            ///< Copies are made of it. Null: plans are made from nothing.
  std::vector<std::unique_ptr<Copy>> idle_;  ///< Copies go from one maker of a plan to the next.
  unsigned failures_ = 0;                    ///< Plans in a row that could not be made so.
  Counts counts_;
  std::shared_ptr<const PlannedSubgraph> last_;  ///< That an inference asked for.
  SubgraphStore<Key, KeyHash> subgraphs_{kKeptSubgraphs};
  PlanAhead ahead_;  ///< Ends first, with the next one.
  PlanRange between_;
};

}  // namespace tenon::inline v1::gpu_device
