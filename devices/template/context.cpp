// SPDX-License-Identifier: Apache-2.0
// Memory of the device, which applications allocate through a remote context.
#include <tenon/core/host.hpp>
#include <tenon/devices/template/template.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::template_device {
namespace {

inline constexpr MemoryKind kDeviceMemory{"template.memory"};

/// The device's context in core. It declares no edges to other frameworks, so the router refuses such maps with a
/// reason. A real device would share dma-bufs, or host memory.
class MemoryContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "template"; }
  MemoryKind kind() const override { return kDeviceMemory; }
};

/// One allocation. Its host address is hidden (Tensor::data() throws), like that of a device's own memory. RemoteMemory
/// makes Tensor::is<RemoteTensor>() true and implements copy_to and copy_from.
class DeviceMemory final : public Memory, public RemoteMemory {
 public:
  DeviceMemory(Ref<HostMemory> bytes, const Properties& properties)
      : Memory(Context(make_ref<MemoryContext>()), kDeviceMemory, properties), bytes_(std::move(bytes)) {}
  ~DeviceMemory() override { drop_views(); }
  std::string device_name() const override { return kName; }
  AnyMap remote_params() const override {
    return {{"SHARED_MEM_TYPE", std::string("TEMPLATE_BUFFER")}, {"MEM_HANDLE", bytes_->host()}};
  }
  void copy_to(const Tensor& self, Tensor& destination) const override { device_view(self).copy_to(destination); }
  void copy_from(const Tensor& self, const Tensor& source) override {
    if (!source || source.element_type() != self.element_type() || source.shape() != self.shape())
      throw Error(Code::kInvalidArgument, std::string(kName) + ": copying " +
                                              (source ? to_string(source.shape()) : std::string("an empty tensor")) +
                                              " into " + to_string(self.shape()) + ": type and shape must be the same");
    Tensor target = device_view(self);
    (lies_on_device(source) ? device_view(source) : source).copy_to(target);
  }
  const Ref<HostMemory>& bytes() const { return bytes_; }

 private:
  Ref<HostMemory> bytes_;  // A real device has its driver's handle here, freed in the destructor.
};

}  // namespace

bool lies_on_device(const Tensor& tensor) {
  return tensor && dynamic_cast<const DeviceMemory*>(tensor.memory().get()) != nullptr;
}

Tensor device_view(const Tensor& tensor) {
  const auto* memory = dynamic_cast<const DeviceMemory*>(tensor.memory().get());
  if (!memory) return tensor;
  return Tensor(tensor.info(), memory->bytes(), tensor.offset(), tensor.lease());
}

Tensor DeviceContext::create_tensor(element::Type type, const Shape& shape, const AnyMap& params) {
  if (!params.empty())
    throw Error(Code::kNotFound, std::string(kName) + ": tensors of this device take no parameter " +
                                     params.begin()->first + "; leave all out");
  const auto size = checked_size_bytes(type, shape);
  if (!size)
    throw Error(Code::kInvalidArgument, std::string(kName) + ": a tensor " + to_string(shape) + " is too large");
  auto bytes = HostMemory::allocate(*size);
  Memory::Properties properties;
  properties.size_bytes = *size;
  properties.identity = bytes->identity();
  return Tensor(TensorInfo{type, shape, {}}, make_ref<DeviceMemory>(std::move(bytes), properties));
}

}  // namespace tenon::inline v1::template_device
