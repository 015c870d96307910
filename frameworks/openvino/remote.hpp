// SPDX-License-Identifier: Apache-2.0
// Remote tensors of OpenVINO's devices: memory of kind `openvino` that the host cannot reach.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <openvino/runtime/remote_context.hpp>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
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
  explicit RemoteTensors(ov::RemoteContext native)
      : native_(std::move(native)), name_("openvino:" + native_.get_device_name()) {}
  std::string_view name() const override { return name_; }
  bool is_host() const override { return false; }
  const ov::RemoteContext& native() const { return native_; }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone || wanted.host_access)
      return Refusal{"remote tensors have no descriptor and no host address; allocate with frameworks/cpu"};
    return Offer{1, FdKind::kNone, 0, false};
  }
  /// A remote tensor of bytes. @errors kUnimplemented: descriptors, host access; errors of create_tensor.
  Ref<Memory> allocate(const Requirements& wanted) override;

 private:
  ov::RemoteContext native_;
  std::string name_;
};

/// The caller's context as a Tenon context. Each call makes a new one, so keep it.
/// @errors kInvalidArgument: an empty context.
inline Context wrap(const ov::RemoteContext& native) {
  if (!native) throw Error(Code::kInvalidArgument, "openvino::wrap of an ov::RemoteContext without a device");
  try {
    return Context(Ref<ContextImpl>(make_ref<RemoteTensors>(native)));
  } catch (...) {
    detail::raise("ov::RemoteContext::get_device_name", "wrapping a remote context");
  }
}

/// Wraps a remote tensor and keeps it alive. @param context  From wrap() of its ov::RemoteContext.
/// @errors kInvalidArgument: another framework's context, an empty or a host tensor; kUnimplemented: element type.
inline Tensor wrap(const Context& context, const ov::Tensor& native) {
  if (!context.as<RemoteTensors>())
    throw Error(Code::kInvalidArgument, "openvino::wrap of a remote tensor: the context is none of OpenVINO's");
  return detail::wrap_in<TensorMemory>(context, native, true);
}

inline Ref<Memory> RemoteTensors::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = wanted.size_bytes + wanted.tail_padding;
  try {
    const ov::Tensor made = native_.create_tensor(ov::element::u8, ov::Shape{size});
    return openvino::wrap(Context(Ref<ContextImpl>(this)), made).memory();
  } catch (...) {
    detail::raise("ov::RemoteContext::create_tensor", "allocating " + std::to_string(size) + " bytes in " + name_);
  }
}

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
