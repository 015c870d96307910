// SPDX-License-Identifier: Apache-2.0
// Runs models whose shapes move, for one request: by plans, subgraph after subgraph where shapes depend on values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/cache_room.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/model_plans.hpp>
#include <tenon/engine/partition.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// A step or node that ran, for the profile.
struct TimedStep {
  StepInfo step;
  std::chrono::nanoseconds start{0}, duration{0};  ///< Since the begin of the run.
};

/// What a run consisted of, for reports.
struct LastRun {
  struct Part {
    std::shared_ptr<const Subgraph> subgraph;
    /// The kernels of the subgraph's cut nodes; missing ones ran by reference kernels.
    std::map<const Node*, const char*> kernels;
  };
  std::vector<Part> parts;          ///< The first is of the whole model; others of what comes after a cut, in order.
  std::vector<std::string> states;  ///< Ids of the inputs after the model's own.
  std::vector<TimedStep> times;     ///< Empty unless Options::profile.
};

/// Given the inputs' shapes, a model is cut at the nodes whose output shapes depend on values: the part before is a
/// plan, those nodes run by their kernels, and the part after is again a model, whose shapes are known by then. Plans
/// come from the store; what they need per request (bindings, memory) is kept here for those used last.
/// @thread one at a time; several may share a store.
class Staged {
 public:
  explicit Staged(std::shared_ptr<ModelPlans> store);
  /// With a store of its own.
  explicit Staged(const Options& options);
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// Gives the memory for output `index`: of that shape, or empty if the run shall allocate it.
  using OutputMemory = std::function<Tensor(std::size_t index, ElementType type, const Shape& shape)>;

  /// @param model  The same object means the same model as before.
  /// @param memory  May be empty: all outputs are allocated.
  /// @param states  Values by id, replaced by those that the run assigns; missing ones are initialised. Unchanged if
  ///        the run fails or is cancelled. Null: every run initialises them. One that is kept in fewer bits is a tensor
  ///        of those (see packed_state()).
  /// @return one tensor per result: those that `memory` gave, or packed ones; empty when cancelled.
  /// @errors as ModelPlans::subgraph(); what a kernel throws.
  std::vector<Tensor> run(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs,
                          Workers& workers, Cancellation cancellation = {}, const OutputMemory& memory = {},
                          VariableMap* states = nullptr);
  /// A state's value among those that run() left: a cache lies there as Options say, in memory with room; this is packed,
  /// in the state's own type. The same tensor if it is that already. @cost a copy else
  Tensor packed_state(const std::string& id, const Tensor& state) const;
  /// The steps of the last run, in order; bodies of loops once per iteration. Empty unless Options::profile.
  const std::vector<TimedStep>& timed_steps() const { return timed_; }
  /// What the last run that succeeded consisted of; no parts before one did.
  LastRun last_run() const;
  /// The same number for runs of the same stages, as long as those are kept; allocates nothing.
  std::uint64_t last_run_number() const;
  /// The last run's plan, if it ran one plan alone; else null.
  std::shared_ptr<const Plan> whole_plan() const { return whole_; }
  /// Bytes that the last run moved because inputs or outputs could not be used in place.
  std::uint64_t packed_bytes() const { return packed_bytes_; }
  const ModelPlans& store() const { return *store_; }

 private:
  struct Ready;
  struct Opened;
  Ready& ready_for(DynamicModel& model, std::span<const Tensor> inputs, std::span<const Growth> growths = {});
  void drop_old();
  std::vector<Tensor> run_plan(Ready& ready, const std::vector<Tensor>& inputs, const OutputMemory& memory);
  std::vector<Tensor> run_parts(const Subgraph& subgraph, Ready& ready, const std::vector<Tensor>& inputs,
                                const OutputMemory& memory);
  std::vector<Tensor> run_all(DynamicModel& model, const std::vector<Tensor>& inputs, const OutputMemory& memory);
  std::vector<Tensor> run_ready(Ready& ready, const std::vector<Tensor>& inputs, const OutputMemory& memory);
  /// Adds the states to the inputs, caches that can grow in memory with room.
  Ready& ready_with_states(const ModelPlans::Opened& opened, std::vector<Tensor>& inputs, VariableMap& states);
  const CacheRoom* room_of(const std::string& id, const Tensor& state) const;
  void make_room(const std::string& id, Tensor& state, const Growth& growth);
  const ModelPlans::Opened& open(const std::shared_ptr<const Model>& model, const VariableMap* states);
  void throw_if_cancelled() const;
  /// What ran after a subgraph that is cut; null at the end.
  const Ready* last_after(const Subgraph& subgraph) const;
  std::vector<Tensor> run_node(Ready& ready, const Node& node, const std::vector<Tensor>& inputs);
  std::vector<Tensor> run_kernel(Ready& ready, const Node& node, const std::vector<Tensor>& inputs);
  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - begun_; }

  const std::shared_ptr<ModelPlans> store_;
  const std::shared_ptr<Workspace> workspace_;
  std::list<std::unique_ptr<Ready>> ready_;  ///< The latest first.
  std::size_t ready_bytes_ = 0;
  std::shared_ptr<const Model> last_model_;
  std::vector<std::string> state_ids_;  ///< The last model's.
  std::vector<bool> set_states_;        ///< Which of these had a value.
  std::shared_ptr<const ModelPlans::Opened> last_opened_;
  std::uint64_t never_grows_ = 0;           ///< The open model that values cut, so that its caches are joined anew.
  std::map<std::string, CacheRoom> rooms_;  ///< By the ids of caches that grow: their tensors are parts of these rooms.
  Workers* workers_ = nullptr;
  Cancellation cancellation_;
  std::chrono::steady_clock::time_point begun_;
  std::vector<TimedStep> timed_;
  std::shared_ptr<const Plan> whole_;
  std::shared_ptr<const Subgraph> last_subgraph_;
  std::uint64_t packed_bytes_ = 0;
};

}  // namespace tenon::inline v1::engine
