// SPDX-License-Identifier: Apache-2.0
// Remote contexts and tensors: handles to objects that devices implement.
#include <algorithm>

#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon {
inline namespace v1 {

RemoteMemory::~RemoteMemory() = default;

namespace {

RemoteMemory& remote_of(const Tensor& tensor) {
  if (!tensor) throw AssertFailure("Tensor was not initialized.");
  auto* remote = dynamic_cast<RemoteMemory*>(tensor.memory().get());
  if (!remote) throw AssertFailure("Tensor is not remote.");
  return *remote;
}

void check_types(const Tensor& src, const Tensor& dst) {
  if (src.element_type() == dst.element_type()) return;
  throw AssertFailure("Tensor element types are not equal. (src: " + std::string(name(src.element_type())) +
                      " != dst: " + std::string(name(dst.element_type())) + ")");
}

void check_params(const AnyMap& params, const std::map<std::string, std::vector<std::string>>& type_info) {
  for (const auto& [key, values] : type_info) {
    const auto found = params.find(key);
    if (found == params.end()) throw AssertFailure("Parameter with key " + key + " not found");
    const std::string value = found->second.as<std::string>();
    if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
      throw AssertFailure("Unexpected parameter value " + value + " for key " + key);
    }
  }
}

}  // namespace

RemoteTensor::RemoteTensor(const Tensor& tensor) : Tensor(tensor) { remote_of(tensor); }
RemoteTensor::RemoteTensor(const RemoteTensor& other, const Shape& begin, const Shape& end) {
  if (!other) throw AssertFailure("Cannot create RoiRemoteTensor on top of empty tensor");
  static_cast<Tensor&>(*this) = Tensor(other, begin, end);
}
void RemoteTensor::type_check(const Tensor& tensor, const std::map<std::string, std::vector<std::string>>& type_info) {
  check_params(remote_of(tensor).remote_params(), type_info);
}
void RemoteTensor::copy_to(Tensor& destination) const {
  const RemoteMemory& remote = remote_of(*this);
  if (!destination) destination = Tensor(element_type(), shape());
  check_types(*this, destination);
  if (destination.shape() != shape()) destination.set_shape(shape());
  if (size_bytes() != 0) remote.copy_to(*this, destination);
}
void RemoteTensor::copy_from(const Tensor& source) {
  remote_of(*this);
  if (!source) throw AssertFailure("Tensor was not initialized.");
  check_types(source, *this);
  if (source.shape() != shape()) set_shape(source.shape());
  // Looked up only now: a tensor that grew lies in other memory.
  if (size_bytes() != 0) remote_of(*this).copy_from(*this, source);
}
AnyMap RemoteTensor::get_params() const { return remote_of(*this).remote_params(); }
std::string RemoteTensor::get_device_name() const { return remote_of(*this).device_name(); }

RemoteContextImpl& RemoteContext::checked() const {
  if (!impl_) throw AssertFailure("RemoteContext was not initialized.");
  return *impl_;
}
void RemoteContext::type_check(const RemoteContext& context,
                               const std::map<std::string, std::vector<std::string>>& type_info) {
  check_params(context.checked().params(), type_info);
}
std::string RemoteContext::get_device_name() const { return checked().device_name(); }
AnyMap RemoteContext::get_params() const { return checked().params(); }
RemoteTensor RemoteContext::create_tensor(const element::Type& type, const Shape& shape, const AnyMap& params) {
  RemoteTensor made(checked().create_tensor(type, shape, params));
  remote_of(made).set_ledger(ledger_);
  return made;
}
Tensor RemoteContext::create_host_tensor(const element::Type type, const Shape& shape) {
  return checked().create_host_tensor(type, shape);
}

}  // namespace v1
}  // namespace tenon
