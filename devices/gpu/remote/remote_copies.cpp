// SPDX-License-Identifier: Apache-2.0
// Copies between remote tensors and others.
#include <tenon/devices/gpu/remote/remote_copies.hpp>

#include <span>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

void check_alike(const Tensor& self, const Tensor& source) {
  if (!source || source.element_type() != self.element_type() || source.shape() != self.shape())
    throw Error(Code::kInvalidArgument, "GPU: copying " +
                                            (source ? to_string(source) : std::string("an empty tensor")) + " into " +
                                            to_string(self) + ": type and shape must be the same");
}

/// Packed host memory as a tensor like `other`.
Tensor borrowed(std::span<std::byte> packed, const Tensor& other) {
  return Tensor(TensorInfo{other.element_type(), other.shape(), {}},
                HostMemory::borrow(packed.data(), packed.size(), false, {}));
}

}  // namespace

void copy_out(const Tensor& tensor, Tensor& destination) {
  std::vector<std::byte> packed(tensor.size_bytes());
  tensor.context()->read(tensor, packed);
  if (auto* const remote = dynamic_cast<RemoteMemory*>(destination.memory().get()))
    return remote->copy_from(destination, borrowed(packed, destination));
  if (!destination.is_host_addressable()) return destination.context()->write(destination, packed);
  borrowed(packed, destination).copy_to(destination);
}
void copy_in(const Tensor& self, const Tensor& tensor, const Tensor& source) {
  check_alike(self, source);
  std::vector<std::byte> packed(tensor.size_bytes());
  Tensor view = borrowed(packed, source);
  if (const auto* const remote = dynamic_cast<const RemoteMemory*>(source.memory().get()))
    remote->copy_to(source, view);
  else if (source.is_host_addressable())
    source.copy_to(view);
  else
    source.context()->read(source, packed);
  tensor.context()->write(tensor, packed);
}

}  // namespace tenon::inline v1::gpu_device
