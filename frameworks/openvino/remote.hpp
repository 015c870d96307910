// SPDX-License-Identifier: Apache-2.0
// Remote tensors of OpenVINO's devices: memory of kind `openvino` that the host cannot reach.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <openvino/runtime/remote_context.hpp>

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

/// One ov::RemoteContext. The device copies its tensors in and out, by edges to and from the CPU.
class RemoteTensors final : public HostTensors {
 public:
  explicit RemoteTensors(ov::RemoteContext native);
  std::string_view name() const override { return name_; }
  bool is_host() const override { return false; }
  const ov::RemoteContext& native() const { return native_; }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A remote tensor of bytes. @errors kUnimplemented: descriptors, host access; errors of create_tensor.
  Ref<Memory> allocate(const Requirements& wanted) override;

 private:
  ov::RemoteContext native_;
  std::string name_;
};

/// The caller's context as a Tenon context. Each call makes a new one, so keep it.
/// @errors kInvalidArgument: an empty context.
Context wrap(const ov::RemoteContext& native);

/// Wraps a remote tensor and keeps it alive. @param context  From wrap() of its ov::RemoteContext.
/// @errors kInvalidArgument: another framework's context, an empty or a host tensor; kUnimplemented: element type.
Tensor wrap(const Context& context, const ov::Tensor& native);

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
