// SPDX-License-Identifier: Apache-2.0
// The device's side of one request: a request of the device for each combination of frame formats.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

/// One request of the device, and the variant of the model that it runs.
struct DeviceRequest {
  std::shared_ptr<const InputVariant> variant;
  std::unique_ptr<InferRequestImpl> impl;

  CompiledModelImpl& compiled() const noexcept { return *variant->impl; }
  /// The port of the variant at which input or output `port` begins.
  std::size_t first_port(PortRef port) const { return port.is_input ? variant->first_input[port.index] : port.index; }
  void bind(PortRef port, const Tensor& tensor) const {
    if (port.is_input)
      impl->bind_input(first_port(port), tensor);
    else
      impl->bind_output(port.index, tensor);
  }
};

/// Made when first used, kept until clear(): formats come back.
/// @thread one at a time; cancel() and end_in_caller() from any thread at any time before clear().
class DeviceRequests {
 public:
  /// @param model  Must outlive this object.
  explicit DeviceRequests(ModelState& model) : model_(model) {}

  /// The one in use; at first that of the main variant. The reference is valid until the next use().
  /// @errors as ModelState::main_variant, CompiledModelImpl::create_request
  DeviceRequest& active() {
    if (all_.empty()) use({});
    return all_[active_];
  }
  /// Uses the request for `key`, empty without frames. If it can't be made, nothing has changed.
  /// @return whether another one was in use before, which is now bound to nothing: the caller must bind this one.
  /// @errors as ModelState::variant, CompiledModelImpl::create_request
  bool use(const InputVariant::Key& key);

  void cancel() noexcept;
  void end_in_caller() noexcept;
  /// Ends all of them; the memory that they were bound to is free when this returns.
  void clear() noexcept;

 private:
  ModelState& model_;
  std::vector<DeviceRequest> all_;
  std::size_t active_ = 0;
  /// The active one's, so that cancel() on another thread needs no all_, which may grow.
  std::atomic<InferRequestImpl*> running_{nullptr};
};

}  // namespace v1
}  // namespace tenon
