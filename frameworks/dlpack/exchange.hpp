// SPDX-License-Identifier: Apache-2.0
// DLPack tensors that lie on devices, for programs that know the frameworks of these devices only by their numbers in DLPack: a
// bridge provides them.
#pragma once

#include <cstdint>
#include <optional>

#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dlpack/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace dlpack {

/// Imports and exports tensors on the devices of one framework. A stream is a number as the framework's protocol counts them; -1: no
/// stream waits. @thread all members from any thread.
class TENON_API DeviceExchange {
 public:
  virtual ~DeviceExchange();
  /// Whether tensors on devices of this DLDeviceType are taken.
  virtual bool takes(std::int32_t device_type) const = 0;
  /// The stream to name where the other side has no choice of its own.
  virtual std::intptr_t default_stream() const = 0;
  /// Takes ownership: the producer's deleter is called exactly once, also if this throws. @errors as import_tensor() of the bridge.
  virtual Tensor import_tensor(abi::DLManagedTensorVersioned* managed, std::intptr_t stream, Ledger* ledger) const = 0;
  virtual Tensor import_tensor(abi::DLManagedTensor* managed, std::intptr_t stream, Ledger* ledger) const = 0;
  /// The consumer's stream is made to wait for the work on the memory. @errors as export_tensor() of the bridge.
  virtual abi::DLManagedTensorVersioned* export_tensor(const Tensor& tensor, std::intptr_t stream,
                                                       Ledger* ledger) const = 0;
  virtual abi::DLManagedTensor* export_legacy(const Tensor& tensor, std::intptr_t stream, Ledger* ledger) const = 0;
  /// Where a tensor lies; nothing if that is no memory of this framework.
  virtual std::optional<abi::DLDevice> device_of(const Tensor& tensor) const = 0;
  /// The device that has an address; nothing if the framework does not know it.
  virtual std::optional<abi::DLDevice> device_at(std::uintptr_t address) const = 0;
};

/// Makes an exchange known to the process. It must live as long as that. Adding it twice does nothing. @thread any
void add_exchange(const DeviceExchange& exchange);
/// Null: no bridge for such devices was loaded. @thread any
const DeviceExchange* find_exchange(std::int32_t device_type);
/// The exchange in whose memory the tensor lies, or null. @thread any
const DeviceExchange* find_exchange(const Tensor& tensor);

}  // namespace dlpack
}  // namespace v1
}  // namespace tenon
