// SPDX-License-Identifier: Apache-2.0
// copy_to() and copy_from() of remote tensors, by commands of the device's queue.
#pragma once

#include <tenon/core/tensor.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {

/// The remote side of the device's memory. One command copies between two buffers of a cl_context, and between a buffer and
/// the host, also where regions are strided; what no command copies goes through host memory between.
class CopiedMemory : public RemoteMemory {
 public:
  /// @errors kInvalidArgument: another type or shape; kPermissionDenied: the destination is read-only; those of native calls.
  void copy_to(const Tensor& self, Tensor& destination) const final;
  void copy_from(const Tensor& self, const Tensor& source) final;
  /// `self` in the memory of the framework that has it.
  virtual Tensor seen(const Tensor& self) const = 0;
};

}  // namespace tenon::inline v1::gpu_device
