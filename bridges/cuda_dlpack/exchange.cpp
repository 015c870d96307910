// SPDX-License-Identifier: Apache-2.0
// This bridge behind dlpack::DeviceExchange: tensors by the number of their device, in the contexts of the process.
#include <tenon/bridges/cuda_dlpack/contexts.hpp>

#include <string>

#include <tenon/bridges/cuda_dlpack/device_types.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/cpu/client.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/contexts.hpp>
#include <tenon/frameworks/dlpack/exchange.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_dlpack {
namespace detail {

/// The process's context of a device. For pinned host memory, of which DLPack names no device: the first.
TENON_INLINE Context context_of(const dlpack::abi::DLDevice& device) {
  for (const Context& context : cuda::contexts()) {
    if (!is_on_device(device.device_type) || cuda::device(context).ordinal == device.device_id) return context;
  }
  throw Error(Code::kUnavailable, "cuda_dlpack import: there is no CUDA device " + std::to_string(device.device_id) +
                                      " for this process (" +
                                      (cuda::contexts().empty() ? cuda::why_none() : "CUDA_VISIBLE_DEVICES") + ")");
}

class Exchange final : public dlpack::DeviceExchange {
 public:
  bool takes(std::int32_t type) const override { return is_on_device(type); }
  std::intptr_t default_stream() const override { return kLegacyDefaultStream; }
  Tensor import_tensor(dlpack::abi::DLManagedTensorVersioned* managed, std::intptr_t stream,
                       Ledger* ledger) const override {
    return imported(managed, stream, ledger);
  }
  Tensor import_tensor(dlpack::abi::DLManagedTensor* managed, std::intptr_t stream, Ledger* ledger) const override {
    return imported(managed, stream, ledger);
  }
  dlpack::abi::DLManagedTensorVersioned* export_tensor(const Tensor& tensor, std::intptr_t stream,
                                                       Ledger* ledger) const override {
    return cuda_dlpack::export_tensor(tensor, stream, ledger);
  }
  dlpack::abi::DLManagedTensor* export_legacy(const Tensor& tensor, std::intptr_t stream,
                                              Ledger* ledger) const override {
    return cuda_dlpack::export_legacy(tensor, stream, ledger);
  }
  std::optional<dlpack::abi::DLDevice> device_of(const Tensor& tensor) const override {
    if (!tensor || tensor.kind() != cuda::kCudaMemory) return std::nullopt;
    return dlpack::abi::DLDevice{device_type(cuda::memory_type(tensor)), cuda::device(tensor.context()).ordinal};
  }
  std::optional<dlpack::abi::DLDevice> device_at(std::uintptr_t address) const override {
    for (const Context& context : cuda::contexts()) {
      const cuda::client::Current current(cuda::handle(context));
      const auto facts = cuda::client::find_pointer(address);
      if (!facts) continue;
      return dlpack::abi::DLDevice{device_type(facts->type), facts->ordinal};
    }
    return std::nullopt;
  }

 private:
  template <typename Managed>
  static Tensor imported(Managed* managed, std::intptr_t stream, Ledger* ledger) {
    if (!managed) throw Error(Code::kInvalidArgument, "cuda_dlpack import: a null pointer");
    cpu::client::ReleaseGuard guard([managed] {
      if (managed->deleter) managed->deleter(managed);
    });
    const Context context = context_of(managed->dl_tensor.device);
    guard.disarm();
    return cuda_dlpack::import_tensor(managed, context, stream, ledger);
  }
};

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() {
  static const auto* exchange = new detail::Exchange;  // Outlives static destructors.
  if (!cuda::contexts().empty()) dlpack::add_exchange(*exchange);
  return {};
}

}  // namespace cuda_dlpack
}  // namespace v1
}  // namespace tenon
