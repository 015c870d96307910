// SPDX-License-Identifier: Apache-2.0
// Wraps OpenVINO's remote contexts and tensors for the runtime.
#pragma once

#include <memory>
#include <string>

#include <openvino/runtime/remote_context.hpp>

#include <tenon/core/tensor.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::openvino_device {

std::shared_ptr<RemoteContextImpl> make_context(ov::RemoteContext native, const std::string& native_device);
/// @errors kInvalidArgument: a context of another device module.
const ov::RemoteContext& native_of(const RemoteContextImpl& context);
/// Whether the tensor's memory belongs to a context of that device.
bool in_context_of(const Tensor& tensor, const std::string& native_device);

}  // namespace tenon::inline v1::openvino_device
