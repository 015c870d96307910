// SPDX-License-Identifier: Apache-2.0
// Models whose shapes depend on values: what is static runs as plans, stage after stage.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {

/// Asked between steps whether to end early.
struct Cancellation {
  bool (*asked)(void*) = nullptr;
  void* context = nullptr;
};

/// A step or node that ran, for the profile.
struct TimedStep {
  engine::StepInfo step;
  std::chrono::nanoseconds start{0}, duration{0};  ///< Since the begin of the run.
};

/// Runs one request's models of changing shapes. Given the inputs' shapes, a model is cut at the nodes whose outputs'
/// shapes only their values tell: what comes before is a plan, those nodes run by their kernels, and what comes after
/// is a model again whose shapes are known by then. Plans are kept by shapes; a model that never sees the same shapes
/// twice is interpreted.
/// @thread one at a time.
class Staged {
 public:
  explicit Staged(engine::Options options);
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// @param model  Without states; the same object means the same model as before.
  /// @return one packed tensor per result; empty when cancelled.
  std::vector<Tensor> run(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs,
                          engine::Workers& workers, Cancellation cancellation = {});
  /// What the last run did, in its order; bodies of loops once per turn. Empty unless Options::profile.
  const std::vector<TimedStep>& timed_steps() const { return timed_; }
  /// Plans made so far: how often shapes were new.
  std::size_t compiled_count() const { return compiled_; }

 private:
  struct Stage;
  struct Known;
  Stage& stage_for(Known& known, const Model& model, const std::vector<Tensor>& inputs);
  std::unique_ptr<Stage> make_stage(const Model& model, const std::vector<Tensor>& inputs);
  std::vector<Tensor> run_plan(Stage& stage, const std::vector<Tensor>& inputs);
  std::vector<Tensor> run_parts(Stage& stage, const std::vector<Tensor>& inputs);
  std::vector<Tensor> run_all(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs);
  void throw_if_cancelled() const;
  std::vector<Tensor> run_node(const Node& node, const std::vector<Tensor>& inputs);
  std::vector<Tensor> run_kernel(const Node& node, const std::vector<Tensor>& inputs);
  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - begun_; }

  engine::Options options_;
  std::unordered_map<const Model*, std::unique_ptr<Known>> known_;
  engine::Workers* workers_ = nullptr;
  Cancellation cancellation_;
  std::chrono::steady_clock::time_point begun_;
  std::vector<TimedStep> timed_;
  std::size_t compiled_ = 0;
};

}  // namespace tenon::inline v1::engine
