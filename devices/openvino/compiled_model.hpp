// SPDX-License-Identifier: Apache-2.0
// A model compiled by OpenVINO, and the sources of its inputs.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include <openvino/runtime/compiled_model.hpp>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/openvino/frames.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::openvino_device {

class CompiledModel final : public CompiledModelImpl, public std::enable_shared_from_this<CompiledModel> {
 public:
  /// The original model's facts.
  struct Source {
    SplitModel split;
    std::map<std::string, std::string> types;  ///< Friendly name to operation type, for profiles.
    std::string name;
  };

  CompiledModel(Ports ports, Source source, ov::CompiledModel native, std::string native_device);

  std::unique_ptr<InferRequestImpl> create_request() override;
  /// Only models with input stages run on the runtime's threads; others use OpenVINO's queue.
  std::size_t stream_count() const override { return stream_count_; }
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const override;
  Any get_property(const std::string& name) const override;
  void set_property(const AnyMap& properties) override;
  void export_model(std::ostream& stream) const override;
  void release_memory() override;
  std::shared_ptr<RemoteContextImpl> context() const override;

  const SplitModel& split() const { return source_.split; }
  const std::string& type_of(const std::string& node_name, const std::string& otherwise) const;
  bool profiles() const { return profiles_; }
  const std::string& native_device() const { return native_device_; }

 private:
  std::optional<Refusal> refuses(const Tensor& tensor, std::optional<Refusal> as_host_tensor) const;

  Source source_;
  mutable ov::CompiledModel native_;
  std::string native_device_;
  std::size_t stream_count_ = 1;
  bool profiles_ = false;
};

/// Ports of an imported blob: names, types and shapes as OpenVINO reports them.
Ports ports_of(const ov::CompiledModel& native);

/// One request; see request.cpp.
std::unique_ptr<InferRequestImpl> make_request(std::shared_ptr<CompiledModel> owner, ov::InferRequest native);

}  // namespace tenon::inline v1::openvino_device
