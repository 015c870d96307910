// SPDX-License-Identifier: Apache-2.0
// A model compiled for the CPU: its plan, or the store of plans if its shapes are dynamic, and the workers of its
// streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/cpu/config.hpp>
#include <tenon/devices/cpu/states.hpp>
#include <tenon/devices/cpu/topology.hpp>
#include <tenon/engine/blob.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/model_plans.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::cpu_device {

/// The machine features that blobs compiled here require: RUNTIME_REQUIREMENTS.
std::string requirements();

class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  /// @errors as engine::Plan::compile
  CompiledModel(const std::shared_ptr<const Model>& model, const Config& config);
  /// Imports a blob. @errors as engine::restore_plan
  CompiledModel(const engine::Blob& blob, const Config& config);

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::size_t stream_count() const override { return static_cast<std::size_t>(config_.stream_count()); }
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  Any get_property(const std::string& name) const override { return table_.get(name); }
  void export_model(std::ostream& stream) const override;
  void export_blob(std::ostream& stream, bool weightless) const override;

  /// Null if shapes are dynamic.
  const std::shared_ptr<const engine::Plan>& static_plan() const { return static_plan_; }
  /// The plans of a model with dynamic shapes, shared by all requests; null for a static model.
  const std::shared_ptr<engine::ModelPlans>& store() const { return store_; }
  engine::Workers& workers(int stream) {
    return *workers_[stream < 0 ? workers_.size() - 1 : static_cast<std::size_t>(stream)];
  }
  const Config& config() const { return config_; }
  const std::string& name() const { return name_; }
  engine::Options engine_options() const;
  /// The original model with dynamic shapes; null for a static model.
  const std::shared_ptr<const Model>& open_model() const { return model_; }
  const std::vector<VariableInfo>& variables() const { return variables_; }
  std::shared_ptr<RemoteContextImpl> context() const override;
  /// The executed steps, with the times of the last inference if PERF_COUNT is set. For a model with dynamic shapes:
  /// the steps of the inference that ended last, in any request. @errors kFailedPrecondition: the shapes are dynamic,
  /// and nothing has run yet.
  std::shared_ptr<const Model> runtime_model() const override;
  /// Called by requests after an inference, for runtime_model(). @thread any. @cost a comparison if the same stages
  /// ran as before and nothing is measured.
  void note_times(const std::vector<engine::Execution::Timing>& times);
  void note_run(const engine::Staged& staged);

 private:
  void keep_open(std::shared_ptr<const Model> model);
  void start_workers();
  void declare_properties();

  Config config_;
  std::shared_ptr<const Model> model_;  ///< Kept only if shapes are dynamic.
  std::weak_ptr<const Model> source_;   ///< The original model, for weightless blobs.
  std::string name_;
  std::vector<VariableInfo> variables_;
  std::unique_ptr<Reservation> reservation_;
  std::vector<std::unique_ptr<engine::Workers>> workers_;  ///< One per stream; the last for callers of infer().
  std::shared_ptr<const engine::Plan> static_plan_;
  std::shared_ptr<engine::ModelPlans> store_;
  mutable std::mutex last_mutex_;
  std::vector<engine::Execution::Timing> last_times_;  ///< Times of the static plan; empty if nothing was measured.
  engine::LastRun last_run_;                           ///< Used by models with dynamic shapes.
  std::atomic<std::uint64_t> last_number_{0};          ///< Number of `last_run_`.
  PropertyTable table_{"compiled model of CPU"};
};

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner);

}  // namespace tenon::inline v1::cpu_device
