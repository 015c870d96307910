// SPDX-License-Identifier: Apache-2.0
// Contexts whose memory is accessed by pointers: the common part of USM and SVM.
#pragma once

#include <cstddef>
#include <span>

#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// Reads and writes elements with the device's own copies, through host memory that lives until they finish.
class PointerContext : public FacetContext {
 public:
  using FacetContext::FacetContext;

  void read(const Tensor& tensor, std::span<std::byte> out) const final;
  void write(const Tensor& tensor, std::span<const std::byte> in) const final;
  /// Packed elements out and in. The caller must have waited for work in flight.
  void read_now(const Tensor& tensor, const Ref<Memory>& packed, Deadline deadline) const;
  void write_now(const Tensor& tensor, const Ref<Memory>& packed, Deadline deadline) const;

 private:
  /// Address of the tensor's first element, as kernels take it.
  virtual std::byte* address(const Tensor& tensor) const = 0;
  /// Enqueues a copy; the event completes with it.
  virtual detail::Handle<cl_event> copy(void* to, const void* from, std::size_t size) const = 0;
};

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
