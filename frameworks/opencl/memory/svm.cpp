// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory of OpenCL 2.0: coarse-grained and fine-grained allocations by pointer.
#include <tenon/frameworks/opencl/svm.hpp>

#include <algorithm>
#include <atomic>

#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/fence.hpp>
#include <tenon/frameworks/opencl/newer_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE SvmBlock::SvmBlock(Ref<Native> native, void* data) : native_(std::move(native)), data_(data) {
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE SvmBlock::~SvmBlock() {
  if (!data_) return;
  // Freed in the queue, after our copies and unmaps that are still in it.
  void* pointers[] = {data_};
  newer_calls().free_svm(native_->transfers.get(), 1, pointers, nullptr, nullptr, 0, nullptr, nullptr);
  clFlush(native_->transfers.get());
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE SvmBlock allocate_svm(const Ref<Native>& native, bool fine, std::size_t size, std::size_t alignment) {
  const cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
  const auto allocate = [&] {
    return newer_calls().allocate_svm(native->context.get(), flags, size, static_cast<cl_uint>(alignment));
  };
  const bool fails = injected();
  void* data = fails ? nullptr : allocate();
  if (!data && !fails) {
    // While blocks are being freed NVIDIA's driver (580) gives none; where memory is short, they make room.
    finish(marker(native->transfers.get()), default_deadline());
    data = allocate();
  }
  if (!data)
    throw Error(Code::kResourceExhausted,
                "opencl: no " + std::string(fine ? "fine" : "coarse") + "-grained SVM of " + std::to_string(size) +
                    " bytes aligned to " + std::to_string(alignment) + " on " + native->device.name,
                "clSVMAlloc", CL_OUT_OF_RESOURCES);
  return {native, data};
}

TENON_INLINE Handle<cl_event> copy_svm(const Native& native, void* to, const void* from, std::size_t size) {
  cl_event event = nullptr;
  check(call(newer_calls().copy_svm, native.transfers.get(), cl_bool{CL_FALSE}, to, from, size, cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueSVMMemcpy", [&] { return "copying " + std::to_string(size) + " bytes of SVM"; });
  return Handle<cl_event>(event);
}

TENON_INLINE MappedSvm::MappedSvm(const Native& native, cl_map_flags flags, void* data, std::size_t size,
                                  Deadline deadline)
    : native_(&native), data_(data) {
  cl_event event = nullptr;
  check(call(newer_calls().map_svm, native.transfers.get(), cl_bool{CL_FALSE}, flags, data, size, cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueSVMMap", [&] { return "mapping " + std::to_string(size) + " bytes of SVM for the host"; });
  Handle<cl_event> mapped(event);
  try {
    finish(std::move(mapped), deadline);
  } catch (...) {
    unmap(nullptr);
    throw;
  }
}

TENON_INLINE Handle<cl_event> MappedSvm::end() {
  cl_event event = nullptr;
  check(injected() ? injected_code() : unmap(&event), "clEnqueueSVMUnmap", "ending a host access to SVM");
  return Handle<cl_event>(event);
}

TENON_INLINE cl_int MappedSvm::unmap(cl_event* event) noexcept {
  if (!data_) return CL_SUCCESS;
  const cl_int status =
      newer_calls().unmap_svm(native_->transfers.get(), std::exchange(data_, nullptr), 0, nullptr, event);
  clFlush(native_->transfers.get());
  return status;
}

}  // namespace detail

TENON_INLINE void* svm_pointer(const Tensor& tensor) {
  const auto address = find_address<SvmMemory, SvmView>(tensor);
  if (!address)
    throw Error(Code::kInvalidArgument,
                "opencl::svm_pointer of " + to_string(tensor) + ": not an opencl.svm; map it to opencl::svm(context)");
  return reinterpret_cast<void*>(*address);
}

TENON_INLINE SvmContext::SvmContext(Ref<detail::Native> native, const std::string& device_name)
    : PointerContext(std::move(native), kSvmMemory, device_name) {
  if (!(this->native().device.svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
    throw Error(Code::kUnavailable, "opencl: " + this->native().device.name + " has no shared virtual memory");
}

TENON_INLINE std::variant<Offer, Refusal> SvmContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone) return Refusal{"SVM has no descriptor; allocate with frameworks/cpu"};
  if (wanted.host_access && !has_fine_grained())
    return Refusal{
        "host access without mapping was asked for, and the device has only coarse-grained SVM; map it to the host"};
  if (wanted.alignment > kMostAligned)
    return Refusal{"an alignment of " + std::to_string(wanted.alignment) + " bytes was asked for, at most " +
                   std::to_string(kMostAligned) + " can be had"};
  return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> SvmContext::allocate(const Requirements& wanted, bool fine) {
  Requirements with_access = wanted;
  with_access.host_access = fine;
  check_offer(with_access);
  // SVM has at most the alignment of the largest type, 128 bytes; larger ones are made by allocating extra room.
  constexpr std::size_t kNatural = 128;
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  const std::size_t room = wanted.alignment > kNatural ? wanted.alignment : 0;
  detail::SvmBlock block = detail::allocate_svm(native_ref(), fine, size + room, 0);
  auto address = reinterpret_cast<std::uintptr_t>(block.data());
  if (room) address = (address + room - 1) / room * room;
  void* const data = reinterpret_cast<void*>(address);
  return over(data, size, fine, std::move(block));
}

TENON_INLINE Ref<Memory> SvmContext::over(void* data, std::size_t size, bool fine, detail::SvmBlock owned) {
  Memory::Properties properties;
  properties.size_bytes = size;
  properties.host = fine ? data : nullptr;
  properties.identity = {MemoryIdentity::Kind::kAllocation, 0, reinterpret_cast<std::uintptr_t>(data)};
  return make_ref<SvmMemory>(Context(Ref<ContextImpl>(this)), properties, fine, data, std::move(owned));
}

TENON_INLINE detail::Handle<cl_event> SvmContext::copy(void* to, const void* from, std::size_t size) const {
  return detail::copy_svm(native(), to, from, size);
}

TENON_INLINE Context svm(const Context& context) {
  if (context.as<SvmContext>()) return context;
  return detail::buffers(context, "svm").sibling(2, [](const Ref<detail::Native>& native, const std::string& name) {
    return Context(make_ref<SvmContext>(native, name));
  });
}

namespace detail {

TENON_INLINE SvmContext& svm_context(const Context& context, const char* function) {
  auto* svm = context.as<SvmContext>();
  if (!svm)
    throw Error(Code::kInvalidArgument,
                std::string("opencl::") + function + ": the context is none of SVM; pass opencl::svm(context)");
  return *svm;
}

}  // namespace detail

TENON_INLINE Tensor allocate_svm(const Context& context, SvmGrain grain, const TensorInfo& info) {
  SvmContext& svm = detail::svm_context(context, "allocate_svm");
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument,
                "opencl::allocate_svm: the size of " + to_string(info.shape) + " does not fit 63 bits");
  Requirements wanted;
  wanted.size_bytes = *extent;
  return Tensor(info, svm.allocate(wanted, grain == SvmGrain::kFine));
}

TENON_INLINE Tensor wrap_svm(const Context& context, void* data, SvmGrain grain, const TensorInfo& info) {
  SvmContext& svm = detail::svm_context(context, "wrap_svm");
  const auto extent = checked_extent_bytes(info);
  if (!data || !extent)
    throw Error(Code::kInvalidArgument,
                std::string("opencl::wrap_svm: ") + (data ? "a size that does not fit 63 bits" : "a null pointer"));
  return Tensor(info, svm.over(data, *extent, grain == SvmGrain::kFine, {}));
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
