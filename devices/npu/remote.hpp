// SPDX-License-Identifier: Apache-2.0
// Remote contexts and tensors of the NPU.
#pragma once

#include <memory>
#include <string>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/npu/hardware.hpp>
#include <tenon/devices/npu/memory.hpp>  // IWYU pragma: export
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/remote_tensor.hpp>  // IWYU pragma: export

namespace tenon::inline v1::npu_device {

/// The ze_context of an NPU, with default parameters for its tensors. @thread any.
class NpuContext final : public RemoteContextImpl {
 public:
  /// @param defaults  for the context's tensors; L0_CONTEXT: a ze_context that the application keeps alive.
  /// @errors kNotFound: a parameter that tensors do not have; those of in_context().
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

/// "NPU", or for NPUs other than the first e.g. "NPU.4000.1".
std::string device_name_of(const Npu& npu);
/// Whether the tensor is in memory of an NPU's context, remote or not.
bool lies_on_npu(const Tensor& tensor);
/// The descriptor of the dma-buf that contains a tensor, to which other devices attach their fences; -1: none.
int fence_fd(const Tensor& tensor);
/// The RUNTIME_REQUIREMENTS of a model compiled for a platform.
std::string requirements_of(const Npu& npu, const std::string& platform);

}  // namespace tenon::inline v1::npu_device
