// SPDX-License-Identifier: Apache-2.0
// Remote contexts and tensors of the NPU.
#pragma once

#include <memory>
#include <string>

#include <tenon/devices/npu/memory.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::npu_device {

/// The ze_context of an NPU, with what tensors are made like where nothing else is said. @thread any.
class NpuContext final : public RemoteContextImpl {
 public:
  /// @param defaults  for the context's tensors; L0_CONTEXT: an application's own ze_context, which it keeps alive.
  /// @errors kNotFound: a parameter that no tensor has; what in_context() gives.
  NpuContext(std::shared_ptr<const Npu> npu, AnyMap defaults);
  std::string device_name() const override;
  AnyMap params() const override;
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override;
  Tensor create_host_tensor(element::Type type, const Shape& shape) override;
  const std::shared_ptr<const Npu>& npu() const { return npu_; }

 private:
  std::shared_ptr<const Npu> npu_;
  AnyMap defaults_;
};

/// "NPU", or "NPU.4000.1" for another than the first.
std::string device_name_of(const Npu& npu);
/// A tensor in memory of an NPU's context, remote or not.
bool lies_on_npu(const Tensor& tensor);
/// RUNTIME_REQUIREMENTS of what is compiled for a platform.
std::string requirements_of(const Npu& npu, const std::string& platform);

}  // namespace tenon::inline v1::npu_device
