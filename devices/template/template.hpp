// SPDX-License-Identifier: Apache-2.0
// The template device: the parts of a device, each as small as it can be while being whole. Copy this folder, put your
// hardware where the reference kernels are, and run device_conformance_test.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include <tenon/core/any.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/evaluate.hpp>  // IWYU pragma: export
#include <tenon/graph/model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/model_blob.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/remote_tensor.hpp>  // IWYU pragma: export

namespace tenon::inline v1::template_device {

/// How messages and users name this device; the module's file is libtenon_device_template.so.
inline constexpr const char* kName = "TEMPLATE";

inline constexpr ModelBlobFormat kBlobFormat{kName, "TENONTPL", 3};

/// What a user may set, on the device or for one compilation. Accept only what has an effect.
struct Config {
  streams::Num streams{1};
  bool profiling = false;
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;

  /// One declaration serves reading, writing, checking and SUPPORTED_PROPERTIES.
  void declare(PropertyTable& table) {
    table.add_value(num_streams, streams);
    table.add_value(enable_profiling, profiling);
    table.add_value(hint::performance_mode, mode);
  }
  /// Inferences in parallel: the executor's threads for start_async. THROUGHPUT wants more than one.
  std::size_t stream_count() const {
    if (streams >= 0) return static_cast<std::size_t>(static_cast<int>(streams));
    return mode == hint::PerformanceMode::LATENCY ? 1 : 2;
  }
};

/// A remote context: memory of the device that applications allocate, and hand back as tensors. Here it is host memory
/// that hides its address; yours holds a handle of your driver.
class DeviceContext final : public RemoteContextImpl {
 public:
  std::string device_name() const override { return kName; }
  AnyMap params() const override { return {{"CONTEXT_TYPE", std::string("TEMPLATE")}}; }
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override;
};

/// Whether a tensor is one of this device's, and the bytes of such a tensor as the kernels see them; others come back.
bool lies_on_device(const Tensor& tensor);
Tensor device_view(const Tensor& tensor);

/// A model made ready: whatever your compiler makes. Shared by its requests; all members from any threads.
class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  CompiledModel(std::shared_ptr<const Model> model, const Config& config, std::shared_ptr<RemoteContextImpl> context);

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::size_t stream_count() const override { return config_.stream_count(); }
  Any get_property(const std::string& name) const override { return table_.get(name); }
  /// The reference kernels read any host memory, strided too: nothing needs to be copied for them. Outputs they write
  /// packed, as the inherited refuses_output() wants it.
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const override;
  std::shared_ptr<const Model> runtime_model() const override { return model_; }
  void export_model(std::ostream& stream) const override;
  std::shared_ptr<RemoteContextImpl> context() const override { return context_; }

  const Model& model() const { return *model_; }
  const Config& config() const { return config_; }

 private:
  std::shared_ptr<const Model> model_;
  Config config_;
  std::shared_ptr<RemoteContextImpl> context_;
  PropertyTable table_{std::string("compiled model of ") + kName};
};

}  // namespace tenon::inline v1::template_device
