// SPDX-License-Identifier: Apache-2.0
// Remote contexts and tensors of the GPU.
#pragma once

#include <memory>
#include <string>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// A cl_context with one device: the default one, or the application's. @thread any.
class GpuContext final : public RemoteContextImpl {
 public:
  /// @param va_display  The application's VADisplay, whose surfaces become tensors; or null.
  explicit GpuContext(std::shared_ptr<const Gpu> gpu, void* va_display = nullptr)
      : gpu_(std::move(gpu)), va_display_(va_display) {}
  std::string device_name() const override { return gpu_->device_name(); }
  AnyMap params() const override;
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override;
  Tensor create_host_tensor(element::Type type, const Shape& shape) override;
  const std::shared_ptr<const Gpu>& gpu() const { return gpu_; }

 private:
  Tensor surface(element::Type type, const Shape& shape, const AnyMap& params);

  const std::shared_ptr<const Gpu> gpu_;
  void* const va_display_;
};

/// Where a tensor begins that lies in USM or SVM of the device's cl_context; null for any other.
std::byte* pointer_of(const Gpu& gpu, const Tensor& tensor);

/// The OpenCL framework's tensor over the same image, if a tensor lies in a remote image of the device's cl_context; empty for
/// any other.
Tensor image_of(const Gpu& gpu, const Tensor& tensor);

/// From create_context()'s parameters: OCL_CONTEXT, and OCL_QUEUE or OCL_CONTEXT_DEVICE_ID; or VA_DEVICE.
/// @errors kInvalidArgument: missing or null handles, a queue of another cl_context, several devices and none named; kUnimplemented: a tile.
std::shared_ptr<GpuContext> make_context(const AnyMap& params);

}  // namespace tenon::inline v1::gpu_device
