// SPDX-License-Identifier: Apache-2.0
// The template device: all parts of a device, each as small as possible. Copy this folder, replace the reference
// kernels by calls of your hardware, and run device_conformance_test.
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

/// The device's name for users and messages; the module's file is libtenon_device_template.so.
inline constexpr const char* kName = "TEMPLATE";

inline constexpr ModelBlobFormat kBlobFormat{kName, "TENONTPL", 3};

/// The settings of the device or of one compilation. Accept only settings that have an effect.
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

/// A remote context: memory of the device that applications allocate and pass back as tensors. Here it is host memory
/// with a hidden address; a real device has a handle of its driver.
class DeviceContext final : public RemoteContextImpl {
 public:
  std::string device_name() const override { return kName; }
  AnyMap params() const override { return {{"CONTEXT_TYPE", std::string("TEMPLATE")}}; }
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override;
};

/// Whether a tensor is in this device's memory; and the tensor as the kernels see it, unchanged if it is not.
bool lies_on_device(const Tensor& tensor);
Tensor device_view(const Tensor& tensor);

/// A compiled model: the output of your compiler. Shared by its requests; all members from any thread.
class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  CompiledModel(std::shared_ptr<const Model> model, const Config& config, std::shared_ptr<RemoteContextImpl> context);

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::size_t stream_count() const override { return config_.stream_count(); }
  Any get_property(const std::string& name) const override { return table_.get(name); }
  /// The reference kernels read any host memory, strided too, so no input is copied. They write packed outputs, as the
  /// inherited refuses_output() requires.
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
