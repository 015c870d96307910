// SPDX-License-Identifier: Apache-2.0
// Passes remote tensors through: those created by OPENVINO.GPU's context are ov::RemoteTensor objects.
#include <tenon/devices/openvino/remote.hpp>

#include <tenon/devices/openvino/native.hpp>
#include <tenon/frameworks/openvino/client.hpp>
#include <tenon/frameworks/openvino/remote.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::openvino_device {
namespace {

/// An ov::RemoteTensor that the runtime treats as remote.
class DeviceMemory final : public openvino::TensorMemory, public RemoteMemory {
 public:
  using openvino::TensorMemory::TensorMemory;
  std::string device_name() const override { return full_name(remote().get_device_name()); }
  AnyMap remote_params() const override { return from_native(remote().get_params()); }
  void copy_from(const Tensor& self, const Tensor& source) override {
    // OpenVINO would change the remote tensor's shape to the source's, for all its users.
    if (!source || source.element_type() != self.element_type() || source.shape() != self.shape())
      throw Error(Code::kInvalidArgument, "OPENVINO: copying " + (source ? to_string(source) : "an empty tensor") +
                                              " into " + to_string(self) + ": type and shape must be the same");
    try {
      ov::RemoteTensor target = openvino::tensor(self).as<ov::RemoteTensor>();
      target.copy_from(openvino::tensor(source));
    } catch (...) {
      rethrow("ov::RemoteTensor::copy_from", "copying into " + to_string(self));
    }
  }
  void copy_to(const Tensor& self, Tensor& destination) const override {
    if (!destination) destination = Tensor(self.element_type(), self.shape());
    if (destination.element_type() != self.element_type())
      throw Error(Code::kInvalidArgument, "OPENVINO: copying " + to_string(self) + " to " + to_string(destination) +
                                              ": the element types must be the same");
    if (destination.shape() != self.shape()) destination.set_shape(self.shape());
    try {
      ov::Tensor target = openvino::tensor(destination);
      openvino::tensor(self).as<ov::RemoteTensor>().copy_to(target);
    } catch (...) {
      rethrow("ov::RemoteTensor::copy_to", "copying " + to_string(self));
    }
  }

 private:
  ov::RemoteTensor remote() const { return native_tensor().as<ov::RemoteTensor>(); }
};

class DeviceContext final : public RemoteContextImpl {
 public:
  DeviceContext(ov::RemoteContext native, std::string native_device)
      : native_(std::move(native)), context_(openvino::wrap(native_)), native_device_(std::move(native_device)) {}
  const ov::RemoteContext& native() const { return native_; }
  std::string device_name() const override { return full_name(native_device_); }
  AnyMap params() const override {
    try {
      return from_native(native_.get_params());
    } catch (...) {
      rethrow("ov::RemoteContext::get_params", "parameters of a context of " + native_device_);
    }
  }
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override {
    try {
      return openvino::client::wrap_in<DeviceMemory>(
          context_, native_.create_tensor(native_type(type), {shape.begin(), shape.end()}, to_native(params)), true);
    } catch (...) {
      rethrow("ov::RemoteContext::create_tensor", "a remote tensor " + to_string(shape) + " on " + native_device_);
    }
  }
  Tensor create_host_tensor(element::Type type, const Shape& shape) override {
    try {
      const ov::Tensor made = native_.create_host_tensor(native_type(type), {shape.begin(), shape.end()});
      // Host-accessible memory that is not an ordinary tensor is remote to OpenVINO too.
      return openvino::wrap(made);
    } catch (...) {
      rethrow("ov::RemoteContext::create_host_tensor", "a host tensor " + to_string(shape) + " of " + native_device_);
    }
  }

 private:
  static ov::element::Type native_type(element::Type type) {
    if (const auto native = openvino::to_native(type)) return *native;
    throw Error(Code::kUnimplemented, openvino::why_not(type));
  }

  ov::RemoteContext native_;
  Context context_;
  std::string native_device_;
};

}  // namespace

std::shared_ptr<RemoteContextImpl> make_context(ov::RemoteContext native, const std::string& native_device) {
  return std::make_shared<DeviceContext>(std::move(native), native_device);
}

const ov::RemoteContext& native_of(const RemoteContextImpl& context) {
  if (const auto* ours = dynamic_cast<const DeviceContext*>(&context)) return ours->native();
  throw Error(Code::kInvalidArgument, "OPENVINO: a context of " + context.device_name() + " is not one of OpenVINO's");
}

bool in_context_of(const Tensor& tensor, const std::string& native_device) {
  const auto* context = tensor.context().as<openvino::RemoteTensors>();
  // OpenVINO calls the first device GPU.0, its context GPU.
  if (!context) return false;
  const std::string name = context->native().get_device_name();
  return name == native_device || native_device.rfind(name + ".", 0) == 0 || name.rfind(native_device + ".", 0) == 0;
}

}  // namespace tenon::inline v1::openvino_device
