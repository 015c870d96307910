// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory of OpenCL 2.0: coarse-grained and fine-grained allocations by pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/native.hpp>
#include <tenon/frameworks/opencl/pointer_context.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

namespace detail {

/// Owns one SVM allocation.
class SvmBlock {
 public:
  SvmBlock() = default;
  SvmBlock(Ref<Native> native, void* data);
  SvmBlock(SvmBlock&& other) noexcept : native_(std::move(other.native_)), data_(std::exchange(other.data_, nullptr)) {}
  SvmBlock& operator=(SvmBlock&&) = delete;
  ~SvmBlock();
  void* data() const { return data_; }

 private:
  Ref<Native> native_;
  void* data_ = nullptr;
};

SvmBlock allocate_svm(const Ref<Native>& native, bool fine, std::size_t size, std::size_t alignment);

/// Host access to coarse-grained SVM; ends on destruction.
class MappedSvm {
 public:
  /// @errors those of clEnqueueSVMMap; kDeadlineExceeded.
  MappedSvm(const Native& native, cl_map_flags flags, void* data, std::size_t size, Deadline deadline);
  MappedSvm(const MappedSvm&) = delete;
  MappedSvm& operator=(const MappedSvm&) = delete;
  ~MappedSvm() { unmap(nullptr); }
  void* data() const { return data_; }
  /// Ends the access; writes are in place when the returned event is complete. @errors those of the call.
  Handle<cl_event> end();

 private:
  cl_int unmap(cl_event* event) noexcept;
  const Native* native_;
  void* data_;
};

}  // namespace detail

/// An SVM allocation as memory. Fine-grained ones are host-addressable directly, coarse-grained ones by mapping.
class SvmMemory final : public Memory {
 public:
  SvmMemory(Context context, const Properties& properties, bool fine, void* data, detail::SvmBlock owned)
      : Memory(std::move(context), kSvmMemory, properties), fine_(fine), data_(data), owned_(std::move(owned)) {}
  ~SvmMemory() override { drop_views(); }
  bool fine_grained() const { return fine_; }
  void* data() const { return data_; }

 private:
  bool fine_;
  void* data_;
  detail::SvmBlock owned_;  // Empty for memory that the user keeps.
};

/// Host memory on devices where any pointer is valid SVM (fine-grained system SVM): the pointer itself.
class SvmView final : public View {
 public:
  using View::View;
  void* data() const { return host(); }
};

/// The address of a tensor's first element, for clSetKernelArgSVMPointer. @errors kInvalidArgument.
void* svm_pointer(const Tensor& tensor);

/// The context of SVM over the same cl_context as the buffers.
class SvmContext final : public PointerContext {
 public:
  /// @errors kUnavailable: the device has no SVM.
  SvmContext(Ref<detail::Native> native, const std::string& device_name);

  std::span<const Edge* const> edges() const override;
  static constexpr std::size_t kMostAligned = 1 << 16;
  bool has_fine_grained() const { return (native().device.svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0; }
  /// Any host pointer is valid SVM.
  bool has_system() const { return (native().device.svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0; }
  /// Fine-grained when `wanted.host_access`, else coarse-grained.
  /// @errors kUnimplemented: descriptors, fine-grained memory on devices without it; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override { return allocate(wanted, wanted.host_access); }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  Ref<Memory> allocate(const Requirements& wanted, bool fine);
  Ref<Memory> over(void* data, std::size_t size, bool fine, detail::SvmBlock owned);

 private:
  std::byte* address(const Tensor& tensor) const override { return static_cast<std::byte*>(svm_pointer(tensor)); }
  detail::Handle<cl_event> copy(void* to, const void* from, std::size_t size) const override;
};

/// The context of SVM over the cl_context of `context`. @errors kUnavailable: the device has none; kInvalidArgument.
Context svm(const Context& context);

namespace detail {}  // namespace detail

enum class SvmGrain : std::uint8_t { kCoarse, kFine };

/// Allocates SVM. @errors as SvmContext::allocate.
Tensor allocate_svm(const Context& context, SvmGrain grain, const TensorInfo& info);

/// The user's SVM of this cl_context as a tensor; the user keeps it alive. OpenCL cannot report a pointer's context or
/// grain, so the arguments are trusted. @errors kInvalidArgument: null, sizes past 63 bits.
Tensor wrap_svm(const Context& context, void* data, SvmGrain grain, const TensorInfo& info);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
