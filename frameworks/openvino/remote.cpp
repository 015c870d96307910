// SPDX-License-Identifier: Apache-2.0
// Contexts and tensors of OpenVINO's devices.
#include <tenon/frameworks/openvino/remote.hpp>

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

TENON_INLINE RemoteTensors::RemoteTensors(ov::RemoteContext native)
    : native_(std::move(native)), name_("openvino:" + native_.get_device_name()) {}

TENON_INLINE std::variant<Offer, Refusal> RemoteTensors::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone || wanted.host_access)
    return Refusal{"remote tensors have no descriptor and no host address; allocate with frameworks/cpu"};
  return Offer{1, FdKind::kNone, 0, false};
}

TENON_INLINE Context wrap(const ov::RemoteContext& native) {
  if (!native) throw Error(Code::kInvalidArgument, "openvino::wrap of an ov::RemoteContext without a device");
  try {
    return Context(Ref<ContextImpl>(make_ref<RemoteTensors>(native)));
  } catch (...) {
    detail::raise("ov::RemoteContext::get_device_name", "wrapping a remote context");
  }
}

TENON_INLINE Tensor wrap(const Context& context, const ov::Tensor& native) {
  if (!context.as<RemoteTensors>())
    throw Error(Code::kInvalidArgument, "openvino::wrap of a remote tensor: the context is none of OpenVINO's");
  return detail::wrap_in<TensorMemory>(context, native, true);
}

TENON_INLINE Ref<Memory> RemoteTensors::allocate(const Requirements& wanted) {
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
