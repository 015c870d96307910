// SPDX-License-Identifier: Apache-2.0
// A model compiled for one OpenCL device.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/config.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/open_model.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/plan/plan.hpp>
#include <tenon/devices/gpu/program/library.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/model_blob.hpp>

namespace tenon::inline v1::gpu_device {

/// How a tensor is used: in place, or moved to or from a buffer of the request's at every inference, where the device has
/// memory of its own.
struct Location {
  Tensor mapped;  ///< In the device's context; empty: moved.
  BoundMemory memory;
};
/// @param takes_pitch  Rows may lie further apart than they are long.
/// @errors none: what cannot be used is refused.
std::variant<Location, Refusal> locate(const Gpu& gpu, const Tensor& tensor, Access access, bool takes_pitch = false);

/// Of exported models. Their programs are in the cache of programs, which belongs to one driver.
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
  Context memory_context() const override { return gpu_->context(); }
  Tensor allocate_input(std::size_t index, const Shape& shape) const override;
  Tensor allocate_output(std::size_t index, const Shape& shape) const override;
  Any get_property(const std::string& name) const override { return table_.get(name); }
  void export_model(std::ostream& stream) const override { write_model_blob(stream, *source_, kBlobFormat); }
  std::shared_ptr<RemoteContextImpl> context() const override { return context_; }
  Requirements requirements() const override;
  /// Of the inference that ended last, with times if it was profiled. @errors kFailedPrecondition: shapes move, and
  /// nothing has run.
  std::shared_ptr<const Model> runtime_model() const override;

  const std::shared_ptr<const Gpu>& gpu() const { return gpu_; }
  const Config& config() const { return config_; }
  /// Of a model whose shapes are known; null otherwise.
  const std::shared_ptr<const Plan>& static_plan() const { return static_plan_; }
  bool takes_pitch(std::size_t input) const { return static_plan_ && static_plan_->inputs[input].takes_pitch; }
  /// For inputs of these shapes; those used last are kept. @errors as compiling; those of OpenModel::closed().
  std::shared_ptr<const Plan> plan_for(const std::vector<Tensor>& inputs);
  /// For runtime_model(). @param times  Of the plan's launches.
  void note_times(const Plan& plan, std::vector<std::chrono::nanoseconds> times);

 private:
  Tensor allocate(element::Type type, const Shape& shape) const;
  std::shared_ptr<const Plan> make_plan(const std::shared_ptr<const Model>& model, bool is_special);

  const std::shared_ptr<const Model> source_;  ///< As given: for export.
  const std::shared_ptr<const Gpu> gpu_;
  const Config config_;
  const std::shared_ptr<RemoteContextImpl> context_;
  Constants constants_;
  std::shared_ptr<const Model> prepared_;  ///< After the passes.
  std::shared_ptr<const Plan> static_plan_;
  std::unique_ptr<OpenModel> open_;  ///< Of a model that is planned for its inputs.
  mutable std::mutex plans_mutex_;
  const Plan* timed_plan_ = nullptr;  ///< Only compared.
  std::vector<std::chrono::nanoseconds> last_times_;
  std::list<std::pair<OpenModel::Key, std::shared_ptr<const Plan>>> plans_;  ///< The latest first.
  PropertyTable table_{"compiled model of GPU"};
};

std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner);

}  // namespace tenon::inline v1::gpu_device
