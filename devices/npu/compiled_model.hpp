// SPDX-License-Identifier: Apache-2.0
// A model compiled for the NPU: the driver's graph, its queue, and the mapping of arguments to ports.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/npu/completion.hpp>
#include <tenon/devices/npu/graph.hpp>
#include <tenon/devices/npu/hardware.hpp>
#include <tenon/devices/npu/model_info.hpp>
#include <tenon/devices/npu/native.hpp>
#include <tenon/devices/npu/settings.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::npu_device {

/// How a port is passed to the driver.
struct PortPlan {
  enum class Kind {
    kStatic,   ///< One shape.
    kBatch,    ///< The graph takes one item; the tensor may have several.
    kBounded,  ///< Any shape within bounds; extents are passed in `shape_argument`.
  };
  std::uint32_t argument = 0;
  Kind kind = Kind::kStatic;
  std::int64_t shape_argument = -1;
  ElementType type = ElementType::kUndefined;
  std::size_t max_bytes = 0;  ///< kBounded: number of bytes that the device may access.
};

class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  /// @param graph  of `npu`.  @errors those of creating a queue and of loading the weights onto the device.
  CompiledModel(std::shared_ptr<Graph> graph, ModelInfo info, Settings settings,
                std::shared_ptr<RemoteContextImpl> context);
  ~CompiledModel() override;

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const override;
  std::optional<Refusal> refuses_batch(std::size_t index, std::span<const Tensor> items) const override;
  Context memory_context() const override;
  Requirements requirements() const override;
  Tensor allocate_input(std::size_t index, const Shape& shape) const override;
  Tensor allocate_output(std::size_t index, const Shape& shape) const override;
  Any get_property(const std::string& name) const override;
  void set_property(const AnyMap& properties) override;
  void export_model(std::ostream& stream) const override;
  /// Exports without weights as long as the original model exists; otherwise as export_model.
  void export_blob(std::ostream& stream, bool weightless) const override;
  std::shared_ptr<const Model> runtime_model() const override;
  void release_memory() override;
  std::shared_ptr<RemoteContextImpl> context() const override { return context_; }

  /// Stores the data that a blob without weights needs. Call before the model is used.
  void remember(std::weak_ptr<const Model> model, std::map<std::string, std::string> config) {
    source_ = std::move(model);
    config_ = std::move(config);
  }

  const std::shared_ptr<Graph>& graph() const { return graph_; }
  const std::shared_ptr<const Npu>& npu() const { return graph_->npu_ref(); }
  /// The queue for future inferences; requests compare its number to detect a change.
  using Queue = Handle<ze_command_queue_handle_t>;
  std::shared_ptr<const Queue> queue() const {
    const std::lock_guard lock(mutex_);
    return queue_;
  }
  std::uint32_t queue_number() const noexcept { return queue_number_.load(std::memory_order_acquire); }
  const Settings& settings() const { return settings_; }
  const ModelInfo& info() const { return info_; }
  const std::vector<PortPlan>& inputs() const { return inputs_; }
  const std::vector<PortPlan>& outputs() const { return outputs_; }
  /// A state's arguments: its input and output, and their extents if its shape is dynamic.
  struct StatePlan {
    std::uint32_t input, output;
    std::uint32_t input_shape = 0, output_shape = 0;
  };
  /// Indexed as info().variables.
  const std::vector<StatePlan>& states() const { return states_; }
  Completion& completion() const { return *completion_; }

  /// The tensor's address for the device, or why it cannot be used in place.
  std::variant<std::byte*, Refusal> place(const PortPlan& plan, const Tensor& tensor, Access access) const;
  /// The same for the items of an input's batch, each in a tensor of its own. Where the driver's graph takes the batch in one
  /// piece, the addresses are the host's, for a copy.
  std::variant<std::vector<std::byte*>, Refusal> place_items(std::size_t index, std::span<const Tensor> items) const;

 private:
  void plan_ports();
  PortPlan plan_port(const Argument& argument, const Output<const Node>& port) const;
  void plan_states();
  void declare();
  std::shared_ptr<const Queue> new_queue(hint::Priority priority) const;
  void set_workload(ze_command_queue_handle_t queue, WorkloadType type) const;

  std::shared_ptr<Graph> graph_;
  ModelInfo info_;
  Settings settings_;
  std::shared_ptr<RemoteContextImpl> context_;
  std::weak_ptr<const Model> source_;
  std::map<std::string, std::string> config_;  ///< Options passed to the driver's compiler.
  std::shared_ptr<const Queue> queue_;
  std::atomic<std::uint32_t> queue_number_{0};
  std::vector<PortPlan> inputs_, outputs_;
  std::vector<StatePlan> states_;
  std::shared_ptr<Completion> completion_;
  mutable std::mutex mutex_;
  PropertyTable table_{"compiled model of NPU"};
};

/// Ports as the driver describes them, for blobs without our header.
Ports ports_of(const Graph& graph);

}  // namespace tenon::inline v1::npu_device
