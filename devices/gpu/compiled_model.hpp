// SPDX-License-Identifier: Apache-2.0
// A model compiled for one OpenCL device.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/config.hpp>
#include <tenon/devices/gpu/deferred_model.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/build/weights.hpp>
#include <tenon/devices/gpu/lower/caches.hpp>
#include <tenon/devices/gpu/plan/background.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/devices/gpu/plan/launch_trial.hpp>
#include <tenon/devices/gpu/program/library.hpp>
#include <tenon/devices/gpu/request/states.hpp>
#include <tenon/devices/gpu/runtime_model.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/model_blob.hpp>

namespace tenon::inline v1::gpu_device {

/// The format of exported models. Their programs are not in it but in the program cache, since compiled programs fit one driver only.
inline constexpr ModelBlobFormat kBlobFormat{"GPU", "TENONGBL", 1};

/// @thread all members from any threads.
class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  /// @errors as lower_model() and KernelLibrary::build().
  CompiledModel(std::shared_ptr<const Model> model, std::shared_ptr<const Gpu> gpu, const Config& config,
                std::shared_ptr<RemoteContextImpl> context);

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::size_t stream_count() const override { return config_.stream_count(); }
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const override;
  std::optional<Refusal> refuses_batch(std::size_t index, std::span<const Tensor> items) const override;
  Context memory_context() const override { return gpu_->context(); }
  Tensor allocate_input(std::size_t index, const Shape& shape) const override;
  Tensor allocate_output(std::size_t index, const Shape& shape) const override;
  Any get_property(const std::string& name) const override { return table_.get(name); }
  void export_model(std::ostream& stream) const override { write_model_blob(stream, *source_, kBlobFormat); }
  std::shared_ptr<RemoteContextImpl> context() const override { return context_; }
  Requirements requirements() const override;
  /// The launches of the inference that ended last, with times if it was profiled. @errors kFailedPrecondition: shapes move, and
  /// nothing has run.
  std::shared_ptr<const Model> runtime_model() const override;

  const std::shared_ptr<const Gpu>& gpu() const { return gpu_; }
  const Config& config() const { return config_; }
  /// Null: OpenCL runs all kernels.
  Twin* twin() const { return twin_.get(); }
  const std::string& name() const { return source_->get_friendly_name(); }
  bool takes_pitch(std::size_t input) const {
    return static_subgraph_ && static_subgraph_->plan->inputs[input].takes_pitch;
  }
  /// The whole of a model whose shapes are known, for plain inputs; null otherwise.
  const std::shared_ptr<const PlannedSubgraph>& static_subgraph() const { return static_subgraph_; }
  /// The same for inputs of these forms; those used last are kept. @pre static_subgraph(). @errors as compiling.
  std::shared_ptr<const PlannedSubgraph> subgraph_for(const std::vector<InputForm>& forms);
  /// Whether the model is planned for its inputs.
  bool is_open() const { return !static_subgraph_; }
  /// A deferred model whose states are inputs behind its own, and results behind its own: ids of both.
  struct Opened {
    std::unique_ptr<DeferredModel> model;
    std::vector<std::string> state_inputs, state_outputs;
  };
  /// @param is_set  The states that have a value. @pre is_open(). @return kept for the life of this.
  const Opened& open(const std::set<std::string>& is_set);
  /// How kernels get into the requests' queues.
  LaunchTrial& launches() const { return launches_; }
  /// As variables_of() the model.
  const std::vector<Variable>& variables() const { return variables_; }
  /// @errors kResourceExhausted: values between kernels of the model take more memory than TENON_LIMIT_BYTES allows.
  void check_memory(std::uint64_t bytes) const;
  /// For runtime_model(). @param times  Times of the launches of each subgraph.
  void note_times(std::vector<std::shared_ptr<const PlannedSubgraph>> subgraphs, SubgraphTimes times);

 private:
  /// Makes the plan for images before the first one comes, for a model whose maker said that its inputs are images.
  void plan_surfaces();
  std::shared_ptr<const LaunchPlan> make_plan(const std::shared_ptr<const Model>& model, bool is_special,
                                              const std::vector<InputForm>& forms);
  /// With programs and constants. @param before  Its programs are known; null: none.
  std::shared_ptr<const LaunchPlan> finish_plan(LaunchPlan lowered, const std::shared_ptr<const Model>& model,
                                                const TimeLimit& time, const LaunchPlan* before);
  /// Builds what the twin runs of a plan, or lets it be built while OpenCL runs the first inferences. @errors as finish_plan().
  void bring(const std::shared_ptr<LaunchPlan>& plan, const LaunchPlan* before);
  /// Finds choices_ for the model, and says so.
  void tune();

  const std::shared_ptr<const Model> source_;  ///< As given: for export.
  const std::shared_ptr<const Gpu> gpu_;
  const Config config_;
  const std::shared_ptr<RemoteContextImpl> context_;
  const std::shared_ptr<Twin> twin_;
  const Target target_;  ///< The device, as this model's settings use it.
  mutable LaunchTrial launches_;
  const bool waits_for_twin_;  ///< Plans do: no other way is to be taken.
  Background background_;      ///< Brings programs to the twin.
  Constants constants_;
  PackedWeights weights_{config_.compile_threads};
  const std::shared_ptr<IdleKernels> idle_kernels_ = std::make_shared<IdleKernels>();  ///< All plans share them.
  Choices choices_;  ///< The ways that the static plans were lowered with.
  std::string tuning_report_;
  std::shared_ptr<const Model> prepared_;  ///< After the passes.
  std::vector<Variable> variables_;
  CacheTypes caches_;  ///< States that lie otherwise than the model says.
  GrowingAxes growing_;
  std::shared_ptr<const PlannedSubgraph> static_subgraph_;
  mutable std::mutex open_mutex_;
  std::map<std::set<std::string>, Opened> open_;  ///< By which states have a value.
  const DeferredModel* last_open_ = nullptr;      ///< That was asked for last.
  /// Plans of the static model for inputs that are not plain.
  SubgraphStore<std::vector<InputForm>, FormHash> formed_subgraphs_{kKeptSubgraphs};
  mutable std::mutex times_mutex_;
  std::vector<std::shared_ptr<const PlannedSubgraph>> timed_subgraphs_;
  SubgraphTimes last_times_;
  PropertyTable table_{"compiled model of GPU"};
};

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner);

}  // namespace tenon::inline v1::gpu_device
