// SPDX-License-Identifier: Apache-2.0
// Contexts whose memory is accessed by pointers: the common part of USM and SVM.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// Reads and writes elements with the device's own copies, through host memory that lives until they finish.
class PointerContext : public FacetContext {
 public:
  using FacetContext::FacetContext;

  void read(const Tensor& tensor, std::span<std::byte> out) const final {
    if (tensor.size_bytes() == 0) return;
    tensor.memory()->wait_for(Access::kRead, default_deadline());
    const Ref<Memory> packed = HostMemory::allocate(tensor.size_bytes());
    read_now(tensor, packed, default_deadline());
    std::memcpy(out.data(), packed->host(), tensor.size_bytes());
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const final {
    if (!tensor.is_writable())
      throw Error(Code::kPermissionDenied, "opencl: writing to " + to_string(tensor) + ": its memory is read-only");
    if (tensor.size_bytes() == 0) return;
    tensor.memory()->wait_for(Access::kWrite, default_deadline());
    const Ref<Memory> staged = HostMemory::allocate(tensor.size_bytes());
    std::memcpy(staged->host(), in.data(), tensor.size_bytes());
    write_now(tensor, staged, default_deadline());
  }
  /// Packed elements out and in. The caller must have waited for work in flight.
  void read_now(const Tensor& tensor, const Ref<Memory>& packed, Deadline deadline) const {
    const std::byte* const base = address(tensor) - tensor.offset();
    auto* const bytes = static_cast<std::byte*>(packed->host());
    detail::run_copies(tensor, packed, deadline, [&](std::size_t offset, std::size_t at, std::size_t size) {
      return copy(bytes + at, base + offset, size);
    });
  }
  void write_now(const Tensor& tensor, const Ref<Memory>& packed, Deadline deadline) const {
    std::byte* const base = address(tensor) - tensor.offset();
    const auto* const bytes = static_cast<const std::byte*>(packed->host());
    detail::run_copies(tensor, packed, deadline, [&](std::size_t offset, std::size_t at, std::size_t size) {
      return copy(base + offset, bytes + at, size);
    });
  }

 private:
  /// Address of the tensor's first element, as kernels take it.
  virtual std::byte* address(const Tensor& tensor) const = 0;
  /// Enqueues a copy; the event completes with it.
  virtual detail::Handle<cl_event> copy(void* to, const void* from, std::size_t size) const = 0;
};

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
